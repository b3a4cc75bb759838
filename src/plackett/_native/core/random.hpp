// Random numbers from a seed and a counter, without a state.
#pragma once
#include <cstdint>

namespace plackett {

// 64 random bits: output number `place` of the generator SplitMix64 with this seed.
inline std::uint64_t random_word(std::uint64_t seed, std::uint64_t place) {
    std::uint64_t word = seed + (place + 1) * 0x9E3779B97F4A7C15u;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

}  // namespace plackett
