// Arguments that are several arrays, and tuples of results.
#pragma once

#include <Python.h>

#include <vector>

#include "core/array.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/ref.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// A tuple of the objects.
Ref make_tuple(std::vector<Ref> items);

/// The arrays of a sequence, with a reference to each.
class ArrayList {
 public:
  /// Throws kType if `arrays` is no sequence of arrays, kValue if it is empty or its arrays are on
  /// different devices; `function` names the Python function.
  ArrayList(const State& state, PyObject* arrays, const char* function);

  const std::vector<core::ArrayView>& views() const noexcept { return views_; }
  /// Calls body(view) for each. Signal handlers run after every kSignalInterval of them; a few
  /// arrays do not pay for the question.
  template <class Body>
  void for_each_view(Body body) const {
    constexpr std::size_t kSignalInterval = std::size_t{1} << 14;
    std::size_t done = 0;
    for (const core::ArrayView& view : views_) {
      body(view);
      if (++done % kSignalInterval == 0) check(calling<PyErr_CheckSignals>());
    }
  }
  core::Device device() const noexcept { return views_.front().device(); }
  /// The dtype to which all promote. Throws kType, naming the two dtypes that do not.
  core::DType common_dtype() const;

 private:
  Ref owner_;
  const char* function_;
  std::vector<core::ArrayView> views_;
};

}  // namespace refarray::extension
