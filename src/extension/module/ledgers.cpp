// Functions of refarray.ledger(): ledgers as capsules.
#include <cstdint>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

using core::Entry;
using core::Fault;
using LedgerPtr = std::shared_ptr<core::Ledger>;

constexpr char kLedgerNewDoc[] = R"doc(_ledger_new($module, forbidden, /)
--

Return a ledger that is not open.

forbidden: bits 1 (allocations), 2 (copies), 4 (transfers), 8 (synchronizations).)doc";

constexpr char kLedgerOpenDoc[] = R"doc(_ledger_open($module, ledger, /)
--

Let a ledger count what the calling thread does. False if it is open already.)doc";

constexpr char kLedgerCloseDoc[] = R"doc(_ledger_close($module, ledger, /)
--

Stop counting, from any thread. False if the ledger is not open.)doc";

constexpr char kLedgerCountsDoc[] = R"doc(_ledger_counts($module, ledger, /)
--

Return (number, bytes, refused) of allocations, copies, transfers and synchronizations.)doc";

constexpr char kNoteCopyDoc[] = R"doc(_note_copy($module, nbytes, /)
--

Count a copy in the open ledgers of the thread, or raise LedgerError.)doc";

constexpr char kNoteReadDoc[] = R"doc(_note_read($module, nbytes, /)
--

Count a transfer from a virtual device to the host, and a synchronization, or raise LedgerError.)doc";

constexpr const char* kCapsuleName = "refarray.ledger";

/// Closes it: it may be open on a thread that never ends.
void drop_ledger(PyObject* capsule) noexcept {
  auto* ledger = static_cast<LedgerPtr*>(PyCapsule_GetPointer(capsule, kCapsuleName));
  (*ledger)->close();
  delete ledger;
}

const LedgerPtr& ledger_in(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kCapsuleName))
    core::fail(Fault::kType, "a ledger is a capsule of _ledger_new(), not ", short_repr(capsule));
  return *static_cast<LedgerPtr*>(PyCapsule_GetPointer(capsule, kCapsuleName));
}

Ref ledger_new(PyObject*, PyObject* forbidden) {
  constexpr std::int64_t kAll = (1 << core::kEntries) - 1;
  const std::int64_t set = to_int64(forbidden, "forbidden");
  if (set < 0 || set > kAll)
    core::fail(Fault::kValue, "forbidden is ", set, "; the bits are 0 to ", kAll);
  auto made =
      std::make_unique<LedgerPtr>(std::make_shared<core::Ledger>(static_cast<core::EntrySet>(set)));
  Ref out = check(PyCapsule_New(made.get(), kCapsuleName, &drop_ledger));
  (void)made.release();  // the capsule owns it
  return out;
}

Ref ledger_open(PyObject*, PyObject* capsule) {
  return check(PyBool_FromLong(core::Ledger::open(ledger_in(capsule))));
}

Ref ledger_close(PyObject*, PyObject* capsule) {
  return check(PyBool_FromLong(ledger_in(capsule)->close()));
}

/// A tuple for each entry.
Ref ledger_counts(PyObject*, PyObject* capsule) {
  const LedgerPtr ledger = ledger_in(capsule);
  Ref out = check(PyTuple_New(core::kEntries));
  for (std::size_t i = 0; i < core::kEntries; ++i) {
    const auto entry = static_cast<Entry>(i);
    Ref counts = check(Py_BuildValue("(LLL)", static_cast<long long>(ledger->number(entry)),
                                     static_cast<long long>(ledger->bytes(entry)),
                                     static_cast<long long>(ledger->refused(entry))));
    check(PyTuple_SetItem(out.get(), static_cast<Py_ssize_t>(i), counts.release()));
  }
  return out;
}

/// For copies that Python code makes.
Ref note_copy(PyObject*, PyObject* nbytes) {
  core::note(Entry::kCopy, to_int64(nbytes, "nbytes"));
  return Ref::borrow(Py_None);
}

/// For reads of virtual devices that Python code makes.
Ref note_read(PyObject*, PyObject* nbytes) {
  note_transfer(to_int64(nbytes, "nbytes"), /*with_host=*/true);
  return Ref::borrow(Py_None);
}

}  // namespace

PyMethodDef kLedgerFunctions[] = {
    {"_ledger_new", method<&ledger_new>(), METH_O, kLedgerNewDoc},
    {"_ledger_open", method<&ledger_open>(), METH_O, kLedgerOpenDoc},
    {"_ledger_close", method<&ledger_close>(), METH_O, kLedgerCloseDoc},
    {"_ledger_counts", method<&ledger_counts>(), METH_O, kLedgerCountsDoc},
    {"_note_copy", method<&note_copy>(), METH_O, kNoteCopyDoc},
    {"_note_read", method<&note_read>(), METH_O, kNoteReadDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
