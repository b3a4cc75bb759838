// Conversion of Python arrays to views. A kernel is bound by define<&kernel>(module, "name", "argument names").
//
// Arrays are passed through the buffer protocol and never converted: another dtype, layout or number of dimensions raises a
// TypeError that names the argument. A kernel that writes to an array takes View<T>, one that reads View<const T>; the
// latter accepts read-only arrays, memory maps among them. The GIL is released while a kernel runs.
//
// bind.cpp checks the arguments of all kernels by tables of Parameter. Only Call::run is compiled for each kernel, because
// the time to compile the kernels was mostly that of their bindings.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "core/arrays.hpp"

namespace plackett {

enum class Takes { array, number, whole, truth, object };

struct Parameter {  // what an argument of a kernel must be
    Takes form;
    char kind = '?';  // as in numpy: 'b' bool, 'f' float, 'i' signed, 'u' unsigned
    std::size_t n_bytes = 0;
    int n_dimensions = 0;
    bool is_written = false;
    const std::type_info* type = nullptr;
};

struct Value {  // an argument of a call
    void* data;  // of an array, or an object
    Index shape[2];
    double number;
    std::int64_t whole;
};

struct Kernel {  // for one combination of array types
    const Parameter* parameters;
    PyObject* (*run)(const Value*);
    bool makes_object;
};

constexpr std::size_t MAX_PARAMETERS = 32;

class Module {
public:
    explicit Module(PyObject* module) : module(module) {}

    Module submodule(const char* name) const;
    void set(const char* name, PyObject* value) const;  // takes the reference
    void set(const char* name, Index value) const { set(name, PyLong_FromLongLong(value)); }
    void set(const char* name, double value) const { set(name, PyFloat_FromDouble(value)); }
    // Bind kernels, one for each combination of array types. `words` are the names of the arguments.
    void bind(const char* name, const char* words, std::size_t n_parameters, std::initializer_list<Kernel> kernels) const;

private:
    PyObject* module;
};

// A Python object that owns an object of a C++ class.
PyObject* own(void* object, const std::type_info& type, void (*destroy)(void*));

class WithoutGil {
public:
    WithoutGil() : state(PyEval_SaveThread()) {}
    ~WithoutGil() { PyEval_RestoreThread(state); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

private:
    PyThreadState* state;
};

template <class T>
constexpr char kind_of() {
    using Element = std::remove_const_t<T>;
    if (std::is_same_v<Element, bool>) return 'b';
    if (std::is_floating_point_v<Element>) return 'f';
    return std::is_signed_v<Element> ? 'i' : 'u';
}

template <class T>
constexpr Parameter array_of(int n_dimensions) {
    return {Takes::array, kind_of<T>(), sizeof(T), n_dimensions, !std::is_const_v<T>};
}

// A kernel's argument of type T: what is accepted, and its value.
template <class T>
struct Argument {
    static_assert(std::is_arithmetic_v<T>);
    static constexpr Takes form = std::is_same_v<T, bool>         ? Takes::truth
                                  : std::is_floating_point_v<T> ? Takes::number
                                                                : Takes::whole;
    static constexpr Parameter parameter{form, kind_of<T>(), sizeof(T)};
    static T of(const Value& value) {
        if constexpr (form == Takes::number)
            return static_cast<T>(value.number);
        else
            return static_cast<T>(value.whole);
    }
};

template <class T>
struct Argument<View<T>> {
    static constexpr Parameter parameter = array_of<T>(1);
    static View<T> of(const Value& value) { return {static_cast<T*>(value.data), value.shape[0]}; }
};

template <class T>
struct Argument<Rows<T>> {
    static constexpr Parameter parameter = array_of<T>(2);
    static Rows<T> of(const Value& value) { return {static_cast<T*>(value.data), value.shape[0], value.shape[1]}; }
};

template <class T>
struct Argument<const T&> {  // an object that another kernel created, such as a loss bound to its labels
    static constexpr Parameter parameter{Takes::object, '?', 0, 0, false, &typeid(T)};
    static const T& of(const Value& value) { return *static_cast<const T*>(value.data); }
};

inline PyObject* as_python(double value) { return PyFloat_FromDouble(value); }
inline PyObject* as_python(Index value) { return PyLong_FromLongLong(value); }
inline PyObject* as_python(bool value) { return PyBool_FromLong(value); }
template <class T>
PyObject* as_python(T* object) {
    return own(object, typeid(T), [](void* pointer) { delete static_cast<T*>(pointer); });
}
template <class... Types>
PyObject* as_python(const std::tuple<Types...>& values) {
    PyObject* const items = PyTuple_New(sizeof...(Types));
    Py_ssize_t place = 0;
    std::apply([&](auto... value) { (PyTuple_SetItem(items, place++, as_python(value)), ...); }, values);
    return items;
}
template <class First, class Second>
PyObject* as_python(const std::pair<First, Second>& values) {
    return as_python(std::tuple<First, Second>(values));
}

template <auto kernel>
struct Call;

template <class Result, class... Types, Result (*kernel)(Types...)>
struct Call<kernel> {
    static constexpr std::size_t n_parameters = sizeof...(Types);
    static_assert(n_parameters <= MAX_PARAMETERS);
    static constexpr std::array<Parameter, n_parameters> parameters{Argument<Types>::parameter...};

    static PyObject* run(const Value* values) { return run_with(values, std::index_sequence_for<Types...>()); }

    static constexpr Kernel entry() { return {parameters.data(), &run, std::is_pointer_v<Result>}; }

private:
    template <std::size_t... place>
    static PyObject* run_with([[maybe_unused]] const Value* values, std::index_sequence<place...>) {
        const auto call = [&] {
            const WithoutGil without_gil;
            return kernel(Argument<Types>::of(values[place])...);
        };
        if constexpr (std::is_void_v<Result>) {
            call();
            return Py_NewRef(Py_None);
        } else {
            return as_python(call());
        }
    }
};

// Bind a kernel, or one kernel per array type, under a name. A kernel that returns a pointer creates a new object, which keeps
// the arrays that it was created from alive.
template <auto kernel, auto... others>
void define(const Module& module, const char* name, const char* words) {
    static_assert(((Call<kernel>::n_parameters == Call<others>::n_parameters) && ...));
    module.bind(name, words, Call<kernel>::n_parameters, {Call<kernel>::entry(), Call<others>::entry()...});
}

}  // namespace plackett
