// Calls of kernels from Python: arguments are checked and converted by the tables of bind.hpp.
#include "core/bind.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plackett {

namespace {

constexpr const char* OBJECT = "plackett object";  // the name of its capsules

struct Object {  // inside a capsule
    void* pointer;
    const std::type_info* type;
    void (*destroy)(void*);
    PyObject* arguments;  // a tuple of what it was created from, or null
};

struct Function {
    const char* name;
    std::string_view words;
    std::size_t n_parameters;
    std::vector<Kernel> kernels;
    PyMethodDef method;
};

struct WrongType : std::runtime_error {
    using std::runtime_error::runtime_error;
};

char kind_of_format(const char* format) {
    if (format == nullptr) return 'u';
    if (*format == '@' || *format == '=') ++format;  // '=': native byte order, not aligned
    if (format[0] == '\0' || format[1] != '\0') return '?';  // a record, or another byte order
    constexpr std::string_view signed_codes = "bhilqn", unsigned_codes = "BHILQN", float_codes = "efdg";
    if (*format == '?') return 'b';
    if (signed_codes.find(*format) != std::string_view::npos) return 'i';
    if (unsigned_codes.find(*format) != std::string_view::npos) return 'u';
    return float_codes.find(*format) != std::string_view::npos ? 'f' : '?';
}

std::string type_name(PyObject* object) {
    PyObject* const name = PyType_GetName(Py_TYPE(object));
    const char* text = name == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(name, nullptr);
    const std::string copy = text == nullptr ? "another type" : text;
    Py_XDECREF(name);
    return copy;
}

std::string array_name(char kind, std::size_t n_bytes) {
    if (kind == 'b') return "bool";
    if (kind == '?') return "another type";
    return (kind == 'f' ? "float" : kind == 'i' ? "int" : "uint") + std::to_string(8 * n_bytes);
}

std::string dimensions(int n) { return std::to_string(n) + (n == 1 ? " dimension" : " dimensions"); }

std::string expected(const Parameter& parameter) {
    switch (parameter.form) {
        case Takes::array:
            return std::string("a contiguous ") + (parameter.is_written ? "writable " : "") +
                   array_name(parameter.kind, parameter.n_bytes) + " array of " + dimensions(parameter.n_dimensions);
        case Takes::number: return "a number";
        case Takes::whole: return "a whole number that fits " + array_name(parameter.kind, parameter.n_bytes);
        case Takes::truth: return "True or False";
        case Takes::object: break;
    }
    return "an object of plackett's own";
}

std::string describe(PyObject* object) {  // description of the received object for an error message
    Py_buffer buffer;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
        PyErr_Clear();
        return type_name(object);
    }
    std::string text = array_name(kind_of_format(buffer.format), static_cast<std::size_t>(buffer.itemsize)) + " of " +
                       dimensions(buffer.ndim);
    if (!PyBuffer_IsContiguous(&buffer, 'C')) text += ", not contiguous";
    if (buffer.format != nullptr && *buffer.format == '=') text += ", not aligned";
    if (buffer.readonly) text += ", read-only";
    PyBuffer_Release(&buffer);
    return text;
}

// The word at an index of "one two three".
std::string word_at(std::string_view words, std::size_t place) {
    for (; place > 0; --place) words.remove_prefix(std::min(words.find(' ') + 1, words.size()));
    return std::string(words.substr(0, words.find(' ')));
}

// Arguments of a call. Keeps the memory of arrays alive; created and destroyed with the GIL held.
class Arguments {
public:
    Arguments() = default;
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;
    ~Arguments() {
        while (n_buffers > 0) PyBuffer_Release(&buffers[--n_buffers]);
    }

    // Convert the arguments up to the first one that does not fit, and return how many fit.
    std::size_t load(const Kernel& kernel, std::size_t n_parameters, PyObject* const* objects) {
        std::size_t n_fit = 0;
        while (n_fit < n_parameters && fits(kernel.parameters[n_fit], objects[n_fit], values[n_fit])) ++n_fit;
        PyErr_Clear();
        return n_fit;
    }

    Value values[MAX_PARAMETERS];

private:
    bool fits(const Parameter& parameter, PyObject* object, Value& value) {
        switch (parameter.form) {
            case Takes::array: return load_array(parameter, object, value);
            case Takes::number: return load_number(object, value);
            case Takes::whole: return load_whole(parameter, object, value);
            case Takes::truth: return load_truth(object, value);
            case Takes::object: break;
        }
        if (!PyCapsule_IsValid(object, OBJECT)) return false;
        const auto* own = static_cast<const Object*>(PyCapsule_GetPointer(object, OBJECT));
        value.data = own->pointer;
        return *own->type == *parameter.type;
    }

    bool load_array(const Parameter& parameter, PyObject* object, Value& value) {
        Py_buffer& buffer = buffers[n_buffers];
        const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (parameter.is_written ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(object, &buffer, flags) != 0) return false;
        ++n_buffers;
        if (buffer.ndim != parameter.n_dimensions || buffer.itemsize != static_cast<Py_ssize_t>(parameter.n_bytes) ||
            kind_of_format(buffer.format) != parameter.kind)
            return false;
        value.data = buffer.buf;
        for (int axis = 0; axis < buffer.ndim; ++axis) value.shape[axis] = static_cast<Index>(buffer.shape[axis]);
        // an empty array may be at any address; the types of arrays are aligned to their size
        return buffer.len == 0 || reinterpret_cast<std::uintptr_t>(buffer.buf) % parameter.n_bytes == 0;
    }

    static bool load_number(PyObject* object, Value& value) {
        if (PyUnicode_Check(object) || PyBytes_Check(object)) return false;
        value.number = PyFloat_AsDouble(object);  // also takes objects with __float__ or __index__
        return PyErr_Occurred() == nullptr;
    }

    static bool load_whole(const Parameter& parameter, PyObject* object, Value& value) {
        PyObject* const whole = PyNumber_Index(object);
        if (whole == nullptr) return false;
        const int n_bits = 8 * static_cast<int>(parameter.n_bytes);
        bool fits;
        if (parameter.kind == 'u') {
            const unsigned long long bits = PyLong_AsUnsignedLongLong(whole);
            value.whole = static_cast<std::int64_t>(bits);
            fits = n_bits == 64 || bits >> n_bits == 0;
        } else {
            value.whole = PyLong_AsLongLong(whole);
            const std::int64_t rest = value.whole >> (n_bits - 1);
            fits = rest == 0 || rest == -1;
        }
        Py_DECREF(whole);
        return fits && PyErr_Occurred() == nullptr;
    }

    static bool load_truth(PyObject* object, Value& value) {  // also numpy's, whose type has the same name or bool_
        const bool is_truth = PyBool_Check(object) || type_name(object).starts_with("bool");
        value.whole = is_truth ? PyObject_IsTrue(object) : -1;
        return value.whole >= 0;
    }

    Py_buffer buffers[MAX_PARAMETERS];
    std::size_t n_buffers = 0;
};

// Describe the first argument that does not fit, by the kernels that fit up to it.
std::string refusal(const Function& function, PyObject* const* objects) {
    const auto n_fit = [&](const Kernel& kernel) { return Arguments().load(kernel, function.n_parameters, objects); };
    std::size_t furthest = 0;
    for (const Kernel& kernel : function.kernels) furthest = std::max(furthest, n_fit(kernel));
    std::string wanted;
    for (const Kernel& kernel : function.kernels) {
        const std::string text = expected(kernel.parameters[furthest]);
        if (n_fit(kernel) == furthest && wanted.find(text) == std::string::npos)
            wanted += (wanted.empty() ? "" : " or ") + text;
    }
    return word_at(function.words, furthest) + " must be " + wanted + "; it is " + describe(objects[furthest]) + ".";
}

PyObject* tuple_of(PyObject* const* objects, std::size_t n) {
    PyObject* const items = PyTuple_New(static_cast<Py_ssize_t>(n));
    for (std::size_t i = 0; items != nullptr && i < n; ++i)
        PyTuple_SetItem(items, static_cast<Py_ssize_t>(i), Py_NewRef(objects[i]));
    return items;
}

// Call the first kernel whose arguments fit.
PyObject* dispatch(const Function& function, PyObject* const* objects, Py_ssize_t n_objects) {
    if (n_objects != static_cast<Py_ssize_t>(function.n_parameters))
        throw WrongType(std::to_string(function.n_parameters) + " arguments are needed, not " + std::to_string(n_objects) + ".");
    for (const Kernel& kernel : function.kernels) {
        Arguments arguments;
        if (arguments.load(kernel, function.n_parameters, objects) < function.n_parameters) continue;
        PyObject* const result = kernel.run(arguments.values);
        if (kernel.makes_object && result != nullptr)
            static_cast<Object*>(PyCapsule_GetPointer(result, OBJECT))->arguments =
                tuple_of(objects, function.n_parameters);
        return result;
    }
    throw WrongType(refusal(function, objects));
}

PyObject* call(PyObject* self, PyObject* const* objects, Py_ssize_t n_objects) noexcept {
    const auto& function = *static_cast<const Function*>(PyCapsule_GetPointer(self, nullptr));
    const auto raise = [&](PyObject* type, const char* words) -> PyObject* {
        return PyErr_Format(type, "%s: %s", function.name, words);
    };
    try {
        return dispatch(function, objects, n_objects);
    } catch (const WrongType& error) {
        return raise(PyExc_TypeError, error.what());
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    } catch (const std::out_of_range& error) {
        return raise(PyExc_IndexError, error.what());
    } catch (const std::invalid_argument& error) {
        return raise(PyExc_ValueError, error.what());
    } catch (const std::exception& error) {
        return raise(PyExc_RuntimeError, error.what());
    }
}

void disown(PyObject* capsule) {
    const auto* object = static_cast<const Object*>(PyCapsule_GetPointer(capsule, OBJECT));
    object->destroy(object->pointer);
    Py_XDECREF(object->arguments);
    delete object;
}

}  // namespace

PyObject* own(void* object, const std::type_info& type, void (*destroy)(void*)) {
    return PyCapsule_New(new Object{object, &type, destroy, nullptr}, OBJECT, &disown);
}

Module Module::submodule(const char* name) const {
    PyObject* const part = PyModule_New(name);
    set(name, part);
    return Module(part);
}

void Module::set(const char* name, PyObject* value) const {
    PyModule_AddObjectRef(module, name, value);
    Py_XDECREF(value);
}

void Module::bind(const char* name, const char* words, std::size_t n_parameters,
                  std::initializer_list<Kernel> kernels) const {
    auto* const function = new Function{name, words, n_parameters, kernels, {}};  // lives as long as the process
    function->method = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)), METH_FASTCALL, words};
    PyObject* const self = PyCapsule_New(function, nullptr, nullptr);
    set(name, PyCFunction_New(&function->method, self));
    Py_XDECREF(self);
}

}  // namespace plackett
