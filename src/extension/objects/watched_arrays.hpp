// The lists of arrays that namespaces with poisoned views keep: see modes/poisoned_views.hpp.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/memory/storage.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// The arrays of one state. The lock matters in builds without a GIL only.
class WatchedArrays {
 public:
  void add(PyObject* array) {
    const std::lock_guard lock(mutex_);
    arrays_.push_back(array);
  }
  void remove(PyObject* array) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(arrays_.rbegin(), arrays_.rend(), array);  // most live shortly
    if (found == arrays_.rend()) return;  // the array could not be listed
    *found = arrays_.back();
    arrays_.pop_back();
  }
  /// Runs `use` while no array gets a storage or is freed.
  template <class Use>
  auto locked(const Use& use) {
    const std::lock_guard lock(mutex_);
    return use(arrays_);
  }

 private:
  std::mutex mutex_;
  std::vector<PyObject*> arrays_;
};

/// To be called for the state of a new namespace, before it makes an array.
void watch_arrays(State& state);
/// When the state ends, and with it the type of its arrays.
void free_watched_arrays(State& state) noexcept;

/// Lists an array that has no storage yet. Throws std::bad_alloc.
void watch(const State& state, PyObject* array);
/// Before the array is freed.
void unwatch(PyObject* array) noexcept;
/// Sets the storage of a listed array.
void set_watched_storage(PyObject* array, core::Storage* storage) noexcept;

}  // namespace refarray::extension
