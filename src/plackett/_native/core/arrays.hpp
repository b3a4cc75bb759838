// Views of arrays, which kernels take: a pointer and a length. With PLACKETT_CHECKED every access is tested.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#ifdef PLACKETT_CHECKED
#include <stdexcept>
#include <string>
#endif

namespace plackett {

using Index = std::int64_t;

#ifdef PLACKETT_CHECKED
inline void check_index(Index i, Index size, Index begin = 0) {
    if (i < begin || i >= size)
        throw std::out_of_range("index " + std::to_string(i) + " of " + std::to_string(size) + " values");
}
inline void check_slice(Index first, Index last, Index size, Index begin = 0) {
    if (first < begin || last < first || last > size)
        throw std::out_of_range("values " + std::to_string(first) + " to " + std::to_string(last) + " of " +
                                std::to_string(size));
}
#else
inline void check_index(Index, Index, Index = 0) {}
inline void check_slice(Index, Index, Index, Index = 0) {}
#endif

template <class T>
struct View {
    T* data;
    Index size;
#ifdef PLACKETT_CHECKED
    Index begin_index = 0;  // above 0 if only a part of the indexed range has memory (objective/fused.hpp)
#else
    static constexpr Index begin_index = 0;
#endif

    T& operator[](Index i) const {
        check_index(i, size, begin_index);
        return data[i];
    }
    View slice(Index first, Index last) const {
        check_slice(first, last, size, begin_index);
        return {data + first, last - first};
    }
    void fill(T value) const { std::fill(begin(), end(), value); }
    T* begin() const { return data; }
    T* end() const { return data + size; }
    operator View<const T>() const
        requires(!std::is_const_v<T>)
    {
#ifdef PLACKETT_CHECKED
        return {data, size, begin_index};
#else
        return {data, size};
#endif
    }
};

template <class T>
struct Rows {  // a C-ordered matrix
    T* data;
    Index n_rows, n_columns;

    View<T> operator[](Index i) const {
        check_index(i, n_rows);
        return {data + i * n_columns, n_columns};
    }
    T& operator()(Index i, Index j) const { return (*this)[i][j]; }
    Rows slice(Index first, Index last) const {
        check_slice(first, last, n_rows);
        return {data + first * n_columns, last - first, n_columns};
    }
    operator Rows<const T>() const
        requires(!std::is_const_v<T>)
    {
        return {data, n_rows, n_columns};
    }
};

template <class T>
class Scratch {  // work space for the duration of a call, not initialised
public:
    explicit Scratch(Index size) : memory(new T[static_cast<std::size_t>(std::max<Index>(size, 1))]), size(size) {}
    Scratch(Index size, T value) : Scratch(size) { view().fill(value); }
    View<T> view() const { return {memory.get(), size}; }
    operator View<T>() const { return view(); }
    operator View<const T>() const { return view(); }
    T& operator[](Index i) const { return view()[i]; }
    View<T> slice(Index first, Index last) const { return view().slice(first, last); }

private:
    std::unique_ptr<T[]> memory;
    Index size;
};

}  // namespace plackett
