// The arrays of namespaces with poisoned views, and who owns the memory that is about to be
// written.
//
// An owner is another array of the namespace whose elements are written too, and any other
// reference to the storage, whose elements are not known: exported tensors, arrays of other
// namespaces. Imported memory belongs to its exporter as well, of which nothing is known.
#include "extension/modes/poisoned_views.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/overlap.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/watched_arrays.hpp"

namespace refarray::extension {

namespace {

struct Owners {
  std::int64_t arrays = 0;     // of the namespace
  std::int64_t others = 0;     // exports, and arrays of other namespaces
  std::int64_t exporters = 0;  // of imported memory

  std::int64_t sum() const noexcept { return arrays + others + exporters; }
};

/// Those besides the array.
Owners owners_of(const State& state, const Write& write) {
  core::Storage* const storage = write.elements.storage;
  Owners out;
  if (storage == nullptr || write.elements.size() == 0) return out;
  const bool operand_is_unseen = write.operand != nullptr && compat::is_temporary(write.operand);
  state.watched->locked([&](const std::vector<PyObject*>& arrays) {
    out.others = static_cast<std::int64_t>(storage->reference_count()) - write.held;
    for (PyObject* array : arrays) {
      if (view_of(array).storage != storage) continue;
      --out.others;
      if (array == write.array || (array == write.operand && operand_is_unseen)) continue;
      if (core::share_memory(write.elements, view_of(array))) ++out.arrays;
    }
  });
  out.others = std::max<std::int64_t>(out.others, 0);  // other threads drop theirs meanwhile
  out.exporters = storage->foreign() && storage->host_block() == 0 ? 1 : 0;
  return out;
}

std::string count_text(std::int64_t count, const char* one, const char* many) {
  return count == 0 ? std::string() : core::text(", ", count, " ", count == 1 ? one : many);
}

[[noreturn, gnu::cold]] void fail_write(const Owners& owners, const char* what) {
  core::fail(core::Fault::kValue, what, " writes to memory that has ", owners.sum() + 1,
             " owners: this array", count_text(owners.arrays, "other array", "other arrays"),
             count_text(owners.others, "export or array of another namespace",
                        "exports or arrays of other namespaces"),
             owners.exporters == 0 ? "" : ", the exporter of the imported memory",
             "; the standard leaves open whether they see it. Write to asarray(x, copy=True)");
}

/// Arrays in cycles of garbage are no owners. PyGC_Collect() does nothing while the collector is
/// disabled.
void collect_garbage() {
  const bool was_enabled = PyGC_Enable() != 0;
  calling<PyGC_Collect>();
  if (!was_enabled) PyGC_Disable();
}
}  // namespace

void refuse_other_owners(const State& state, const Write& write, const char* what) {
  if (!state.modes.poison_views) return;
  if (owners_of(state, write).sum() == 0) return;
  collect_garbage();
  const Owners owners = owners_of(state, write);
  if (owners.sum() > 0) fail_write(owners, what);
}

Ref target_in_place(const State& state, PyObject* x1, PyObject* x2) {
  if (!is_array(state, x1) || !compat::is_temporary(x1)) return Ref::borrow(x1);
  const core::ArrayView array = view_of(x1);
  if (owners_of(state, {x1, array, x2}).sum() == 0) return Ref::borrow(x1);
  return make_array(state, working_copy(array, array.dtype));
}

}  // namespace refarray::extension
