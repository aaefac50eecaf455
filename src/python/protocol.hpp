// Owns the values of the exchange protocol's keywords: what stream=, max_version=, dl_device= and
// copy= may be.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>

#include "ref.hpp"
#include "refarray/core/array.hpp"
#include "refarray/dlpack/export.hpp"
#include "state.hpp"

namespace refarray::python {

/// None or absent, True, False, and nothing else: TypeError (PROD-15).
dlpack::Copy to_copy(PyObject* object);
/// None or absent, or an int. TypeError for another type, bool included; ValueError past int64
///
std::optional<std::int64_t> to_stream(PyObject* object);

/// How a max_version compares with ours.
enum class VersionRequest { kLegacy, kOlderMinor, kOurs, kNewer };
/// None or absent (legacy), or a tuple of two ints of any size. TypeError otherwise (VERS-10).
VersionRequest to_version_request(const State& state, PyObject* object);

/// None or absent, or a tuple of two ints. TypeError otherwise; ValueError past int32 (PROD-06,
/// PROD-07).
std::optional<DLDevice> to_dl_device(PyObject* object);

/// Steps 2 to 5 for an array: a capsule that answers `request`, ordered on `stream`.
Ref export_capsule(const core::ArrayView& array, const dlpack::ExportRequest& request,
                   std::optional<std::int64_t> stream);

}  // namespace refarray::python
