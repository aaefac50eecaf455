// Emptying of the object pool.
#include "extension/array/pool.hpp"

namespace refarray::extension {

void ObjectPool::close() noexcept {
  if (--users_ > 0) return;
  for (Py_ssize_t ndim = 0; ndim < kRanks; ++ndim) {
    while (counts_[ndim] > 0) PyObject_Free(blocks_[ndim][--counts_[ndim]]);
  }
}

}  // namespace refarray::extension
