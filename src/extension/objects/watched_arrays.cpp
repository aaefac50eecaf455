// Keeps the list of the arrays of a namespace with poisoned views.
#include "extension/objects/watched_arrays.hpp"

#include <utility>

#include "extension/objects/array_object.hpp"

namespace refarray::extension {

void watch_arrays(State& state) {
  state.watched = new WatchedArrays;
  state.object_bits |= ObjectBits::kWatched;
}

void free_watched_arrays(State& state) noexcept { delete std::exchange(state.watched, nullptr); }

void watch(const State& state, PyObject* array) { state.watched->add(array); }

void unwatch(PyObject* array) noexcept { State::of_object(array).watched->remove(array); }

void set_watched_storage(PyObject* array, core::Storage* storage) noexcept {
  State::of_object(array).watched->locked([&](const std::vector<PyObject*>&) {
    reinterpret_cast<ArrayObject*>(array)->storage = storage;
  });
}

}  // namespace refarray::extension
