// A module of its own, compiled for any processor: whether this one runs the build for x86-64-v3 (AVX2, FMA, BMI and others).
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#endif

static bool runs_v3() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    const auto has = [](unsigned word, unsigned bits) { return (word & bits) == bits; };
    unsigned a, b, c, d;
    constexpr unsigned FMA = 1u << 12, MOVBE = 1u << 22, OSXSAVE = 1u << 27, AVX = 1u << 28, F16C = 1u << 29;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, FMA | MOVBE | OSXSAVE | AVX | F16C)) return false;
    constexpr unsigned BMI1 = 1u << 3, AVX2 = 1u << 5, BMI2 = 1u << 8;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, BMI1 | AVX2 | BMI2)) return false;
    constexpr unsigned LZCNT = 1u << 5;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !has(c, LZCNT)) return false;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));  // whether the operating system saves the wide registers
    return has(a, 6u);
#else
    return false;
#endif
}

static int fill(PyObject* module) { return PyModule_AddObjectRef(module, "runs_v3", runs_v3() ? Py_True : Py_False); }

PyMODINIT_FUNC PyInit__cpu() {
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&fill)},
#ifdef Py_mod_gil
                                       {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                       {0, nullptr}};
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_cpu", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
    return PyModuleDef_Init(&definition);
}
