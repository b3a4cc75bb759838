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
inline void check_index(Index i, Index size) {
    if (i < 0 || i >= size)
        throw std::out_of_range("index " + std::to_string(i) + " of " + std::to_string(size) + " values");
}
inline void check_slice(Index first, Index last, Index size) {
    if (first < 0 || last < first || last > size)
        throw std::out_of_range("values " + std::to_string(first) + " to " + std::to_string(last) + " of " +
                                std::to_string(size));
}
#else
inline void check_index(Index, Index) {}
inline void check_slice(Index, Index, Index) {}
#endif

template <class T>
struct View {
    T* data;
    Index size;

    T& operator[](Index i) const {
        check_index(i, size);
        return data[i];
    }
    View slice(Index first, Index last) const {
        check_slice(first, last, size);
        return {data + first, last - first};
    }
    void fill(T value) const { std::fill(begin(), end(), value); }
    T* begin() const { return data; }
    T* end() const { return data + size; }
    operator View<const T>() const
        requires(!std::is_const_v<T>)
    {
        return {data, size};
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
class Scratch {  // room for the time of a call, not initialised
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
