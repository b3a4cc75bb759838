// Conversion of Python arrays to views. A kernel is bound by define<&kernel>(module, "name", "argument names").
//
// Arrays are passed through the buffer protocol and never converted: another dtype, layout or number of dimensions raises a
// TypeError that names the argument. A kernel that writes to an array takes View<T>, one that reads View<const T>; the
// latter accepts read-only arrays, memory maps among them. The GIL is released while a kernel runs.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/arrays.hpp"

namespace plackett {

namespace nb = nanobind;

template <class T>
constexpr char kind_of() {  // kinds as in numpy: 'b' bool, 'f' float, 'i' signed, 'u' unsigned
    using Value = std::remove_const_t<T>;
    if (std::is_same_v<Value, bool>) return 'b';
    if (std::is_floating_point_v<Value>) return 'f';
    return std::is_signed_v<Value> ? 'i' : 'u';
}

inline char kind_of_format(const char* format) {
    if (format == nullptr) return 'u';
    if (*format == '@' || *format == '=') ++format;  // '=': native byte order, not aligned
    if (format[0] == '\0' || format[1] != '\0') return '?';  // a record, or another byte order
    constexpr std::string_view signed_codes = "bhilqn", unsigned_codes = "BHILQN", float_codes = "efdg";
    if (*format == '?') return 'b';
    if (signed_codes.find(*format) != std::string_view::npos) return 'i';
    if (unsigned_codes.find(*format) != std::string_view::npos) return 'u';
    return float_codes.find(*format) != std::string_view::npos ? 'f' : '?';
}

inline std::string name_of(char kind, std::size_t n_bytes) {
    if (kind == 'b') return "bool";
    if (kind == '?') return "another type";
    return (kind == 'f' ? "float" : kind == 'i' ? "int" : "uint") + std::to_string(8 * n_bytes);
}

// Keeps the memory of an array alive. Created and destroyed with the GIL held.
template <class T, int n_dimensions>
class Buffer {
public:
    Buffer() { buffer.obj = nullptr; }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept : buffer(other.buffer) { other.buffer.obj = nullptr; }
    ~Buffer() {
        if (buffer.obj != nullptr) PyBuffer_Release(&buffer);
    }

    bool load(nb::handle object) {
        constexpr int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
        if (PyObject_GetBuffer(object.ptr(), &buffer, flags) != 0) {
            PyErr_Clear();
            buffer.obj = nullptr;
            return false;
        }
        const bool fits = buffer.ndim == n_dimensions && buffer.itemsize == static_cast<Py_ssize_t>(sizeof(T)) &&
                          kind_of_format(buffer.format) == kind_of<T>() &&
                          // an empty array may point anywhere
                          (buffer.len == 0 || reinterpret_cast<std::uintptr_t>(buffer.buf) % alignof(T) == 0);
        return fits;
    }
    T* data() const { return static_cast<T*>(buffer.buf); }
    Index shape(int axis) const { return static_cast<Index>(buffer.shape[axis]); }

    static std::string expected() {
        return "a contiguous " + std::string(std::is_const_v<T> ? "" : "writable ") +
               name_of(kind_of<T>(), sizeof(T)) + " array of " + std::to_string(n_dimensions) +
               (n_dimensions == 1 ? " dimension" : " dimensions");
    }

private:
    Py_buffer buffer;
};

inline std::string describe(nb::handle object) {  // description of the received object for an error message
    Py_buffer buffer;
    if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
        PyErr_Clear();
        return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
    }
    std::string text = name_of(kind_of_format(buffer.format), static_cast<std::size_t>(buffer.itemsize)) + " of " +
                       std::to_string(buffer.ndim) + (buffer.ndim == 1 ? " dimension" : " dimensions");
    if (!PyBuffer_IsContiguous(&buffer, 'C')) text += ", not contiguous";
    if (buffer.format != nullptr && *buffer.format == '=') text += ", not aligned";
    if (buffer.readonly) text += ", read-only";
    PyBuffer_Release(&buffer);
    return text;
}

// Conversion of one argument of a kernel: load() returns whether the object fits, get() returns the kernel's argument.
template <class T>
struct Argument;

template <class T>
struct Argument<View<T>> : Buffer<T, 1> {
    View<T> get() const { return {this->data(), this->shape(0)}; }
};

template <class T>
struct Argument<Rows<T>> : Buffer<T, 2> {
    Rows<T> get() const { return {this->data(), this->shape(0), this->shape(1)}; }
};

template <>
struct Argument<double> {
    double value;
    bool load(nb::handle object) {
        if (PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()) || PyIndex_Check(object.ptr()) ||
            PyObject_HasAttrString(object.ptr(), "__float__")) {
            value = PyFloat_AsDouble(object.ptr());
            if (!PyErr_Occurred()) return true;
            PyErr_Clear();
        }
        return false;
    }
    double get() const { return value; }
    static std::string expected() { return "a number"; }
};

template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
struct Argument<T> {
    T value;
    bool load(nb::handle object) {
        if (!PyIndex_Check(object.ptr())) return false;
        const nb::object whole = nb::steal(PyNumber_Index(object.ptr()));
        if (!whole.is_valid()) {
            PyErr_Clear();
            return false;
        }
        return nb::try_cast(whole, value);
    }
    T get() const { return value; }
    static std::string expected() { return "a whole number that fits " + name_of(kind_of<T>(), sizeof(T)); }
};

template <>
struct Argument<bool> {
    bool value;
    bool load(nb::handle object) {
        const int truth = PyBool_Check(object.ptr()) || nb::cast<std::string>(nb::str(object.type().attr("__name__"))) == "bool"
                              ? PyObject_IsTrue(object.ptr())
                              : -1;
        value = truth == 1;
        return truth >= 0;
    }
    bool get() const { return value; }
    static std::string expected() { return "True or False"; }
};

// An object of a class that the module defines, such as a loss bound to its labels.
template <class T>
    requires(std::is_class_v<T>)
struct Argument<const T&> {
    const T* value = nullptr;
    bool load(nb::handle object) {
        T* pointer = nullptr;
        const bool fits = nb::try_cast<T*>(object, pointer) && pointer != nullptr;
        value = pointer;
        return fits;
    }
    const T& get() const { return *value; }
    static std::string expected() { return "an object of plackett's own"; }
};

// The word at an index of "one two three".
inline std::string word_at(std::string_view words, std::size_t place) {
    for (; place > 0; --place) words.remove_prefix(std::min(words.find(' ') + 1, words.size()));
    return std::string(words.substr(0, words.find(' ')));
}

template <auto kernel>
struct Call;

template <class Result, class... Types, Result (*kernel)(Types...)>
struct Call<kernel> {
    static constexpr std::size_t n_arguments = sizeof...(Types);
    static constexpr bool makes_object = std::is_pointer_v<Result>;
    std::tuple<Argument<Types>...> arguments;

    // The number of leading arguments that fit.
    std::size_t load(const nb::handle* objects) {
        std::size_t n_fit = 0;
        std::apply([&](auto&... argument) { static_cast<void>(((argument.load(objects[n_fit]) && ++n_fit > 0) && ...)); },
                   arguments);
        return n_fit;
    }

    nb::object run([[maybe_unused]] const char* name) {
#ifdef PLACKETT_CHECKED
        try {
            return result_of();
        } catch (const std::out_of_range& error) {
            throw std::out_of_range(std::string(name) + ": " + error.what());
        }
#else
        return result_of();
#endif
    }

    static std::string expected(std::size_t place) {
        std::string text;
        std::size_t here = 0;
        ((here++ == place ? void(text = Argument<Types>::expected()) : void()), ...);
        return text;
    }

private:
    nb::object result_of() {
        if constexpr (std::is_void_v<Result>) {
            call();
            return nb::none();
        } else if constexpr (makes_object) {
            return nb::cast(call(), nb::rv_policy::take_ownership);
        } else {
            return nb::cast(call());
        }
    }

    Result call() {
        const nb::gil_scoped_release without_gil;
        return std::apply([](auto&... argument) { return kernel(argument.get()...); }, arguments);
    }
};

// Raise an error with the type that the best matching kernel expected.
template <auto... kernels>
[[noreturn]] void refuse(const char* name, std::string_view words, const nb::handle* objects) {
    std::size_t furthest = 0;
    ((furthest = std::max(furthest, Call<kernels>().load(objects))), ...);
    std::string wanted;
    const auto add = [&](std::size_t n_fit, const std::string& text) {
        if (n_fit < furthest || wanted.find(text) != std::string::npos) return;
        wanted += (wanted.empty() ? "" : " or ") + text;
    };
    (add(Call<kernels>().load(objects), Call<kernels>::expected(furthest)), ...);
    throw nb::type_error((std::string(name) + ": " + word_at(words, furthest) + " must be " + wanted + "; it is " +
                          describe(objects[furthest]) + ".")
                             .c_str());
}

// Call the first kernel whose arguments fit.
template <auto... kernels>
nb::object dispatch(const char* name, std::string_view words, const nb::handle* objects) {
    nb::object result;
    const auto attempt = [&]<auto kernel>() {
        Call<kernel> call;
        if (call.load(objects) < Call<kernel>::n_arguments) return false;
        result = call.run(name);
        return true;
    };
    if (!(attempt.template operator()<kernels>() || ...)) refuse<kernels...>(name, words, objects);
    return result;
}

template <std::size_t>
using handle_at = nb::handle;
template <std::size_t>
auto any_at() {  // any object, None included: the types of the kernel decide
    return nb::arg().none();
}

// Bind a kernel, or one kernel per array type, under a name. `words` are the names of the arguments. A kernel that
// returns a pointer creates a new object, which keeps the arrays that it was created from alive.
template <auto kernel, auto... others>
void define(nb::module_& module, const char* name, const char* words) {
    const auto bind = [&]<std::size_t... place>(std::index_sequence<place...>) {
        const auto function = [name, words](handle_at<place>... objects) {
            const nb::handle given[] = {objects..., nb::handle()};
            return dispatch<kernel, others...>(name, words, given);
        };
        if constexpr (Call<kernel>::makes_object)
            module.def(name, function, words, any_at<place>()..., nb::keep_alive<0, place + 1>()...);
        else
            module.def(name, function, words, any_at<place>()...);
    };
    bind(std::make_index_sequence<Call<kernel>::n_arguments>());
}

}  // namespace plackett
