// Docstrings of the module, its exceptions and its private introspection functions.
#pragma once

namespace refarray::extension {

inline constexpr char kModuleDoc[] =
    R"doc(The native part of refarray. Use its names through the package refarray.)doc";

inline constexpr char kNoCopyDoc[] = R"doc(copy=False was requested, but a copy is required.

This is both a BufferError, which __dlpack__() must raise, and a ValueError, which
asarray() and reshape() must raise (policy A-01).)doc";

inline constexpr char kAxisErrorDoc[] = R"doc(The array has no such axis.

This is both a ValueError and an IndexError, as NumPy's.)doc";

inline constexpr char kLinAlgErrorDoc[] =
    R"doc(The result does not exist for a matrix: it is not square, singular or not positive definite.

Or the iterations did not converge. This is a ValueError, as NumPy's.)doc";

inline constexpr char kDriverErrorDoc[] =
    R"doc(A GPU driver call failed for a reason other than lack of memory.

Lack of memory raises MemoryError instead.

Attributes:
    code: the driver's error code, an int.
    name: the driver's name for that code, a str.
    call: the operation that failed, a str.)doc";

inline constexpr char kInspectCapsuleDoc[] = R"doc(_inspect_capsule($module, capsule, /)
--

Return the fields of the managed tensor in an unconsumed DLPack capsule as a dict.

The capsule stays unconsumed. Of an unknown major version only the fields before
dl_tensor are read. Raises TypeError if the argument is not a capsule, ValueError if
its name is not that of an unconsumed DLPack capsule.)doc";

inline constexpr char kInspectExchangeApiDoc[] = R"doc(_inspect_exchange_api($module, type, /)
--

Describe the C exchange table of a type as a dict, or return None if it has none.

The dict says which functions are set; none is called.)doc";

inline constexpr char kFindOnTypeDoc[] = R"doc(_find_on_type($module, type_and_name, /)
--

Look up an attribute as from_dlpack() does: by the type cache, and by the MRO.
Returns two lists, each empty or with the unbound attribute.)doc";

inline constexpr char kProbeDriversDoc[] = R"doc(_probe_drivers($module, /)
--

Return one dict per GPU vendor: its driver library, the number of devices, errors.)doc";

inline constexpr char kBuildInfoDoc[] = R"doc(_build_info($module, /)
--

Return how this extension was built, as a dict.)doc";

inline constexpr char kNoopDoc[] = R"doc(_noop($module, x, /)
--

Return x. Benchmarks measure in units of one such call.)doc";

inline constexpr char kLedgerNewDoc[] = R"doc(_ledger_new($module, forbidden, /)
--

Return a ledger that is not open.

forbidden: bits 1 (allocations), 2 (copies), 4 (transfers), 8 (synchronizations).)doc";

inline constexpr char kLedgerOpenDoc[] = R"doc(_ledger_open($module, ledger, /)
--

Let a ledger count what the calling thread does. False if it is open already.)doc";

inline constexpr char kLedgerCloseDoc[] = R"doc(_ledger_close($module, ledger, /)
--

Stop counting, from any thread. False if the ledger is not open.)doc";

inline constexpr char kLedgerCountsDoc[] = R"doc(_ledger_counts($module, ledger, /)
--

Return (number, bytes, refused) of allocations, copies, transfers and synchronizations.)doc";

inline constexpr char kNoteCopyDoc[] = R"doc(_note_copy($module, nbytes, /)
--

Count a copy in the open ledgers of the thread, or raise LedgerError.)doc";

inline constexpr char kNoteReadDoc[] = R"doc(_note_read($module, nbytes, /)
--

Count a transfer from a virtual device to the host, and a synchronization, or raise LedgerError.)doc";

}  // namespace refarray::extension
