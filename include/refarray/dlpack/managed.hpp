// Managed: a unique_ptr to a managed tensor, ours or foreign, that calls its deleter.
// Header-only, without Python; ships in the wheel.
#pragma once

#include <memory>

#include "refarray/core/forced_unwind.hpp"
#include "refarray/dlpack/wire.hpp"

namespace refarray::dlpack {

/// The deleter frees the struct itself too. It may be NULL when the producer has nothing to release
/// (LIFE-01, LIFE-02). It may run Python code, in which CPython may end the thread.
struct CallDeleter {
  template <class M>
  void operator()(M* tensor) const noexcept {
    if (tensor->deleter != nullptr) core::park_at_exit([tensor] { tensor->deleter(tensor); });
  }
};

/// Owns one managed tensor. M is DLManagedTensor or DLManagedTensorVersioned.
template <class M>
using Managed = std::unique_ptr<M, CallDeleter>;

}  // namespace refarray::dlpack
