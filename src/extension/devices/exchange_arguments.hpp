// Parsing of DLPack's keyword arguments: stream=, max_version=, dl_device= and copy=.
#pragma once

#include <cstdint>
#include <optional>

#include "core/array.hpp"
#include "dlpack/export.hpp"
#include "extension/capi/args.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {

namespace detail {
// For arguments other than None; most calls pass none.
dlpack::Copy parse_copy(PyObject* object);
runtime::GivenStream parse_stream(PyObject* object);
DLDevice parse_dl_device(const State& state, PyObject* object);
bool requests_versioned(const State& state, PyObject* max_version);
}  // namespace detail

/// None or absent, True or False. TypeError for anything else (PROD-15).
inline dlpack::Copy to_copy(PyObject* object) {
  return is_given(object) ? detail::parse_copy(object) : dlpack::Copy::kIfNeeded;
}
/// None or absent, an integer by __index__, or an object with __cuda_stream__. TypeError for
/// another type, bool included; ValueError past 64 bits. Runs the object's code.
inline runtime::GivenStream to_stream(PyObject* object) {
  return is_given(object) ? detail::parse_stream(object) : runtime::GivenStream{};
}
/// None or absent, or a tuple of two ints. TypeError otherwise; ValueError past int32 (PROD-06,
/// PROD-07).
inline std::optional<DLDevice> to_dl_device(const State& state, PyObject* object) {
  return is_given(object) ? std::optional(detail::parse_dl_device(state, object)) : std::nullopt;
}

/// What a refarray.Stream of any interpreter, each of which has its own type object, stands for;
/// nothing for other objects. Whoever passes the handle on calls give_handle(). Defined in
/// stream_type.cpp.
std::optional<runtime::GivenStream> stream_of_ours(PyObject* object) noexcept;

/// max_version= compared with the version that refarray implements.
enum class VersionRequest { kLegacy, kOlderMinor, kOurs, kNewer };
/// None or absent (legacy), or a tuple of two ints of any size. TypeError otherwise (VERS-10).
VersionRequest to_version_request(const State& state, PyObject* object);
/// Whether the answer is to_version_request() != kLegacy: all that an export needs. Does not
/// convert the ints when the major version is ours.
inline bool wants_versioned(const State& state, PyObject* object) {
  return is_given(object) && detail::requests_versioned(state, object);
}

/// The answer of __dlpack_device__: a tuple of two ints; for the CPU the second may be None.
/// TypeError otherwise, naming the method (DEV-01).
DLDevice to_announced_device(const State& state, PyObject* answer);

/// The keyword arguments of from_dlpack().
struct ImportRequest {
  std::optional<core::Device> device;  // empty: where the data is
  dlpack::Copy copy = dlpack::Copy::kIfNeeded;
  PyObject* max_version = nullptr;  // borrowed; nullptr: the version that refarray implements

  /// An exchange table takes no arguments, so only such a request can use it.
  bool is_plain() const noexcept {
    return !device && copy == dlpack::Copy::kIfNeeded && max_version == nullptr;
  }
  /// Only host memory is requested from the producer. Few producers can copy to a device, so
  /// refarray does that itself.
  bool asks_for_host() const noexcept { return device && device->is_host(); }
};
/// Throws TypeError for a wrong type, kBuffer for a device that this process cannot use.
ImportRequest to_import_request(const State& state, PyObject* device, PyObject* copy,
                                PyObject* max_version);

}  // namespace refarray::extension
