// A few doubles in one vector register, for loops in which automatic vectorisation is too slow: the compiler loads eight
// floats, splits them and converts the halves, although four could be converted as they are loaded. Scores and gradients
// took 1.6 times as long.
#pragma once
#include <cstring>
#if defined(__AVX__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#include "core/arrays.hpp"

namespace plackett {

#if defined(__GNUC__) || defined(__clang__)
#ifdef __AVX__
constexpr Index N_LANES = 4;
#else
constexpr Index N_LANES = 2;
#endif
typedef double Lanes __attribute__((vector_size(N_LANES * 8)));
typedef float FloatLanes __attribute__((vector_size(N_LANES * 4)));

inline Lanes every_lane(double value) { return value - Lanes{}; }
inline Lanes load_lanes(const double* from) {
    Lanes lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}
inline Lanes load_lanes(const float* from) {
#if defined(__AVX__)
    return _mm256_cvtps_pd(_mm_loadu_ps(from));  // gcc 12 generates slower code for the generic form below
#elif defined(__SSE2__)
    double both;
    std::memcpy(&both, from, sizeof both);
    return _mm_cvtps_pd(_mm_castpd_ps(_mm_set_sd(both)));
#else
    FloatLanes lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return __builtin_convertvector(lanes, Lanes);
#endif
}
inline void store_lanes(Lanes lanes, double* to) { std::memcpy(to, &lanes, sizeof lanes); }
// Return the second operand if either is NaN.
inline Lanes smaller(Lanes a, Lanes b) { return a < b ? a : b; }
inline Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
#else
constexpr Index N_LANES = 2;
struct Lanes {
    double lane[2];
    double operator[](Index i) const { return lane[i]; }
};

inline Lanes every_lane(double value) { return {{value, value}}; }
template <class Real>
Lanes load_lanes(const Real* from) {
    return {{static_cast<double>(from[0]), static_cast<double>(from[1])}};
}
inline void store_lanes(const Lanes& lanes, double* to) { std::memcpy(to, lanes.lane, sizeof lanes.lane); }
inline Lanes operator+(const Lanes& a, const Lanes& b) { return {{a[0] + b[0], a[1] + b[1]}}; }
inline Lanes operator*(const Lanes& a, const Lanes& b) { return {{a[0] * b[0], a[1] * b[1]}}; }
inline Lanes& operator+=(Lanes& a, const Lanes& b) { return a = a + b; }
inline Lanes smaller(const Lanes& a, const Lanes& b) { return {{a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]}}; }
inline Lanes larger(const Lanes& a, const Lanes& b) { return {{a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]}}; }
#endif

// Begin to load the cache line of an address, which may be outside of the array.
inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
#endif
}

inline double sum_of_lanes(const Lanes& lanes) {
    double sum = lanes[0] + lanes[1];
    for (Index i = 2; i < N_LANES; i += 2) sum += lanes[i] + lanes[i + 1];
    return sum;
}

}  // namespace plackett
