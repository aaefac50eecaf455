// Managed: a smart pointer that calls the deleter of a managed tensor exactly once. Header-only and
// free of Python; it is shipped in the wheel.
#pragma once

#include <memory>

#include "refarray/dlpack/wire.hpp"

namespace refarray::dlpack {

/// The deleter also frees the struct itself. It may be NULL when the producer has nothing to
/// release (LIFE-01, LIFE-02).
struct CallDeleter {
  template <class M>
  void operator()(M* tensor) const noexcept {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  }
};

/// Owns a managed tensor of any producer. M is DLManagedTensor or DLManagedTensorVersioned.
template <class M>
using Managed = std::unique_ptr<M, CallDeleter>;

}  // namespace refarray::dlpack
