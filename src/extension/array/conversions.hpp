// Owns conversion of arguments that many functions take: integers, shapes, axes, dtypes, devices;
// and back to Python.
#pragma once

#include <Python.h>

#include <cstdint>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::extension {

/// Up to kMaxRank integers: a shape, axes, strides. Entries past count are not initialised.
struct Integers {
  int count = 0;
  std::int64_t values[core::kMaxRank];
  core::Extents span() const noexcept { return {values, static_cast<std::size_t>(count)}; }
};

/// An integer by __index__ (bool included, float not). Throws TypeError naming `what`,
/// OverflowError past int64, and whatever __index__ raises.
std::int64_t to_int64(PyObject* object, const char* what);
/// One integer or a sequence of at most kMaxRank integers. Throws as to_int64, and ValueError when
/// there are too many.
Integers to_integers(PyObject* object, const char* what);
/// to_integers, refusing negative entries with ValueError.
Integers to_shape(PyObject* object);

/// A DType object, its name, or bool, int, float, complex. Throws TypeError, or ValueError for an
/// unknown name.
core::DType to_dtype(const State& state, PyObject* object);
/// A Device object or its name. Throws TypeError, or ValueError for an unknown name.
core::Device to_device_value(const State& state, PyObject* object);
/// None and absence mean the default given.
core::DType to_dtype_or(const State& state, PyObject* object, const core::DType& fallback);
core::Device to_device_or(const State& state, PyObject* object, const core::Device& fallback);

Ref make_dtype(const State& state, const core::DType& dtype);
Ref make_device(const State& state, const core::Device& device);
Ref make_int_tuple(core::Extents values);

// The copying functions stay out of line: flattened into the exchange again and again, the copy
// engine took the linker 8 GB.

/// core::copy. A long copy (kReleaseGilAbove) gives up the GIL, and lets signal handlers run
/// several times in 100 ms: when one raises, it ends with that exception and dst is partly written.
/// The caller keeps both arrays alive. Where a device is involved, the copy is ordered behind all
/// unfinished work on both arrays and on the current stream, without the GIL.
[[gnu::noinline]] void copy_elements(const core::ArrayView& dst, const core::ArrayView& src);
/// A fresh, writable, row-major copy as `dtype` (equal dtypes: a plain copy) on `device`, made as
/// copy_elements does. Throws kBuffer also when this build cannot allocate there.
[[gnu::noinline]] core::Array copy_to_new(const core::ArrayView& array, const core::DType& dtype,
                                          const core::Device& device = {});

/// Where a copy of what is there goes unless it is told: the device itself, but pinned memory,
/// which is scarce, must be asked for.
inline core::Device beside(const core::Device& device) noexcept {
  return device.is_host() ? core::Device{} : device;
}
/// runtime::new_array, without the GIL where a driver is asked.
[[gnu::noinline]] core::Array allocate_on(const core::Device& device, const core::DType& dtype,
                                          core::Extents shape, bool zeroed);
/// The same dtype on `device`, carried out in the order of a stream.
[[gnu::noinline]] core::Array copy_to_new_on(const core::ArrayView& array,
                                             const core::Device& device,
                                             const runtime::StreamPtr& stream);

/// Applies REFARRAY_ISA and REFARRAY_COPY_THREADS. Throws kValue for what they may not be.
void read_copy_settings();

}  // namespace refarray::extension
