// Owns asking a producer: through its exchange table, through its dunders, or a capsule that is
// there already.
#pragma once

#include <Python.h>

#include <optional>

#include "dlpack/exchange_api.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "extension/dlpack/producer.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// What the caller of from_dlpack wants.
struct ImportRequest {
  std::optional<core::Device> device;  // empty: where the data is
  dlpack::Copy copy = dlpack::Copy::kIfNeeded;
  PyObject* max_version = nullptr;  // borrowed; nullptr: our own version

  /// Nothing asked for that an exchange table could not be told.
  bool is_plain() const noexcept {
    return !device && copy == dlpack::Copy::kIfNeeded && max_version == nullptr;
  }
};

/// Through managed_tensor_from_py_object_no_sync. Throws what it sets, BufferError when it fails in
/// silence.
void import_by_table(const DLPackExchangeAPI& table, PyObject* x, dlpack::Imported& out);

/// Through __dlpack_device__ and __dlpack__: asks with what was asked for, and once more with less
/// when the producer is too old for it (CONS-04, A-41).
void import_by_dunder(const State& state, PyObject* x, const Offer& offer,
                      const ImportRequest& request, dlpack::Imported& out);

/// Takes the tensor out of a capsule and validates it. `producer` is named in errors; nullptr for a
/// bare capsule.
void import_capsule(PyObject* capsule, PyObject* producer, dlpack::Imported& out);

}  // namespace refarray::extension
