// The fuzz targets written in Python: libFuzzer around an embedded CPython, in which run() of the
// module REFARRAY_FUZZ_MODULE does what an input describes.
#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

// AddressSanitizer's operator new ends the program when there is no memory. These throw bad_alloc,
// as they do in a build without it.
void* operator new(std::size_t size) {
  if (void* made = std::malloc(size)) return made;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* made) noexcept { std::free(made); }
void operator delete(void* made, std::size_t) noexcept { std::free(made); }
void operator delete[](void* made) noexcept { std::free(made); }
void operator delete[](void* made, std::size_t) noexcept { std::free(made); }

namespace {

PyObject* run_input = nullptr;  // owned until the process ends

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "wrong: %s\n", what);
  if (PyErr_Occurred() != nullptr) PyErr_Print();
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;  // libFuzzer's timeout and interrupt need them
  // The environment's interpreter decides where the standard library is.
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, REFARRAY_INTERPRETER);
  if (PyStatus_Exception(status) == 0) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status) != 0) Py_ExitStatusException(status);
  PyObject* module = PyImport_ImportModule(REFARRAY_FUZZ_MODULE);
  if (module == nullptr) fail(REFARRAY_FUZZ_MODULE " cannot be imported");
  run_input = PyObject_GetAttrString(module, "run");
  Py_DECREF(module);
  if (run_input == nullptr) fail(REFARRAY_FUZZ_MODULE " has no run()");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  PyObject* input =
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data), static_cast<Py_ssize_t>(size));
  PyObject* done = input == nullptr ? nullptr : PyObject_CallOneArg(run_input, input);
  if (done == nullptr) fail(REFARRAY_FUZZ_MODULE ".run() raised");
  Py_DECREF(done);
  Py_DECREF(input);
  return 0;
}
