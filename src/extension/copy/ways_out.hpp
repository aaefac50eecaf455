// The ways out of an array's memory: how code outside of its namespace gets at the elements. All of
// them ask here, by where the memory is and by the mode of the namespace.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "extension/objects/array_object.hpp"

namespace refarray::extension {

/// A way out that shares the memory. docs/interop.md has the table of what each answers.
struct SharingWay {
  enum class Reader : std::uint8_t { kHost, kCuda, kAny };

  const char* name;          // in messages
  PyObject* const* refusal;  // the type of its exception
  Reader reader;             // which memory the other side can read; kAny is told the device
  bool gives_owner = true;   // what it gives keeps the memory, so that poisoned views see an owner
};

// Not constexpr: on Windows the addresses of another library's objects are known at run time only.
namespace sharing {
using Reader = SharingWay::Reader;
inline const SharingWay kBuffer{"a buffer", &PyExc_BufferError, Reader::kHost};
inline const SharingWay kDlpack{"__dlpack__() other than with dl_device=(1, 0)", &PyExc_BufferError,
                                Reader::kAny};
inline const SharingWay kTable{"a C table", &PyExc_BufferError, Reader::kAny};
inline const SharingWay kArrayMethod{"__array__()", &PyExc_TypeError, Reader::kHost};
inline const SharingWay kNumpyMethod{"numpy()", &PyExc_TypeError, Reader::kHost};
inline const SharingWay kArrow{"__arrow_c_array__", &PyExc_AttributeError, Reader::kHost};
inline const SharingWay kArrayInterface{"__array_interface__", &PyExc_AttributeError, Reader::kHost,
                                        /*gives_owner=*/false};
inline const SharingWay kCudaArrayInterface{"__cuda_array_interface__", &PyExc_AttributeError,
                                            Reader::kCuda, /*gives_owner=*/false};
}  // namespace sharing

/// Throws the exception of the way unless it may give the memory of the array to others: the other
/// side has to be able to read it, and with poisoned views to own it. Waits for no work.
void require_sharing(PyObject* array, const SharingWay& way);
/// Throws that exception.
[[noreturn, gnu::cold]] void refuse_sharing(PyObject* array, const SharingWay& way);

/// For the ways that copy: the elements in memory that the CPU can read, as to_readable(). For
/// ledgers this is a transfer and a wait on a virtual device too.
core::ArrayView read_elements(PyObject* array, const char* operation, core::Array& owner);

}  // namespace refarray::extension
