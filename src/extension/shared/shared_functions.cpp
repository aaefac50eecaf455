// The functions behind refarray.shared: arenas as capsules, handles as bytes.
#include "extension/shared/shared_functions.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "runtime/runtime.hpp"
#include "shared/processes.hpp"
#include "shared/shared_storage.hpp"

namespace refarray::extension {
namespace {

using core::fail;
using core::Fault;
using shared::ArenaPtr;

constexpr char kNewDoc[] = R"doc(_shared_new($module, peers_write, limit, /)
--

Return the capsule of a new arena; limit 0 is the machine's memory.)doc";

constexpr char kEmptyDoc[] = R"doc(_shared_empty($module, place, shape, dtype, zeroed, /)
--

Return a new array in an arena, or on a device in memory that other processes can map.)doc";

constexpr char kArenaOfDoc[] = R"doc(_shared_arena_of($module, x, /)
--

Return the capsule of an array's arena, or None.)doc";

constexpr char kFindDoc[] = R"doc(_shared_find($module, x, /)
--

Return x with the memory of an arena that its elements are in, or None.)doc";

constexpr char kSendDoc[] = R"doc(_shared_send($module, x, /)
--

Return the bytes by which one receiver attaches the array.)doc";

constexpr char kAttachDoc[] = R"doc(_shared_attach($module, handle, /, *descriptors)
--

Return the array of a handle. descriptors: the two of its arena, the one of its device
memory, or none.)doc";

constexpr char kDescriptorDoc[] = R"doc(_shared_descriptor($module, x, /)
--

Return the descriptor of an array in device memory, which stays the array's, or -1.)doc";

constexpr char kSourceDoc[] = R"doc(_shared_source($module, arena, /)
--

Return the bytes by which another process opens an arena.)doc";

constexpr char kOpenDoc[] = R"doc(_shared_open($module, source, control, data, /)
--

Return the capsule of an arena: of its source, or of descriptors if they are not -1.)doc";

constexpr char kDescriptorsDoc[] = R"doc(_shared_descriptors($module, arena, /)
--

Return two new descriptors of an arena, for another process.)doc";

constexpr char kCollectDoc[] = R"doc(_shared_collect($module, /)
--

Free what no process uses, in all arenas; return the bytes that the system got.)doc";

constexpr char kLimitsDoc[] = R"doc(_shared_limits($module, transit, orphans, /)
--

Set the limits that are not negative, and return them.)doc";

constexpr char kUsageDoc[] = R"doc(_shared_usage($module, arena, /)
--

Return (limit, file bytes, free bytes, held, sent, dropped, processes, id, can write).)doc";

constexpr const char* kArenaCapsule = "refarray.shared.arena";

void drop_arena(PyObject* capsule) noexcept {
  delete static_cast<ArenaPtr*>(PyCapsule_GetPointer(capsule, kArenaCapsule));
}

Ref arena_object(ArenaPtr arena) {
  auto made = std::make_unique<ArenaPtr>(std::move(arena));
  Ref out = check(PyCapsule_New(made.get(), kArenaCapsule, &drop_arena));
  (void)made.release();  // the capsule owns it
  return out;
}

ArenaPtr to_arena(PyObject* object) {
  if (!PyCapsule_IsValid(object, kArenaCapsule))
    fail(Fault::kType, "an arena is a capsule of _shared_new(), not ", short_repr(object));
  return *static_cast<ArenaPtr*>(PyCapsule_GetPointer(object, kArenaCapsule));
}

/// Refuses another number of arguments than `wanted`.
void check_count(const char* function, Py_ssize_t given, Py_ssize_t wanted) {
  if (given != wanted)
    raise(PyExc_TypeError, "%s() takes %zd arguments (%zd given)", function, wanted, given);
}

std::span<const std::byte> bytes_in(PyObject* object, const char* what) {
  if (!PyBytes_Check(object)) fail(Fault::kType, what, " must be bytes, not ", type_name(object));
  char* data = nullptr;
  Py_ssize_t size = 0;
  check(PyBytes_AsStringAndSize(object, &data, &size));
  return {reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

Ref bytes_of(std::span<const std::byte> bytes) {
  return check(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                         static_cast<Py_ssize_t>(bytes.size())));
}

int to_descriptor(PyObject* object, const char* what) {
  const std::int64_t out = to_int64(object, what);
  if (out < -1 || out > INT32_MAX)
    fail(Fault::kValue, what, " is ", out, "; it must be a descriptor, 0 to ", INT32_MAX);
  return static_cast<int>(out);
}

/// The arena of descriptors that stay the caller's; empty if they are -1.
ArenaPtr opened(PyObject* control_object, PyObject* data_object) {
  const int control_number = to_descriptor(control_object, "control");
  const int data_number = to_descriptor(data_object, "data");
  if (control_number < 0) return {};
  struct Borrowed {
    shared::Descriptor file;
    ~Borrowed() { (void)file.release(); }
  };
  const Borrowed control{shared::Descriptor(control_number)};
  const Borrowed data{shared::Descriptor(data_number)};
  return shared::Arena::open(control.file, data.file);
}

Ref shared_new(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  check_count("_shared_new", nargs, 2);
  const std::int64_t limit = to_int64(args[1], "limit");
  if (limit < 0) fail(Fault::kValue, "limit is ", limit, "; it must be 1 or more bytes");
  const std::uint64_t bytes =
      limit == 0 ? shared::physical_memory() : static_cast<std::uint64_t>(limit);
  return arena_object(shared::Arena::create(args[0] == Py_True, bytes));
}

Ref shared_empty(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  check_count("_shared_empty", nargs, 4);
  const State& state = State::of_module(module);
  const bool in_arena = PyCapsule_CheckExact(args[0]);
  const ArenaPtr arena = in_arena ? to_arena(args[0]) : ArenaPtr();
  const core::Device device = in_arena ? core::Device{} : to_device_value(state, args[0]);
  const Integers shape = to_shape(args[1]);
  const core::DType dtype = to_dtype_or(state, args[2], core::DType{core::Kind::kFloat, 64});
  const bool zeroed = args[3] == Py_True;
  if (zeroed && dtype.kind == core::Kind::kFloat8_e8m0fnu)
    fail(Fault::kValue, core::name(dtype), " has no zero; its smallest value is 2**-127");
  if (!in_arena) return new_on_device(state, dtype, shape.span(), device, zeroed);
  const std::int64_t nbytes = core::checked_nbytes(core::checked_size(shape.span()), dtype);
  core::Array out;
  {
    const GilRelease released(nbytes >= kReleaseGilAbove);
    out = shared::new_shared_array(arena, dtype, shape.span(), zeroed);
  }
  return make_array(state, std::move(out));
}

/// Of any namespace: they have the same memory.
core::ArrayView view_of_any(PyObject* x) {
  if (!is_any_array(x)) fail(Fault::kType, "x must be a refarray.Array, not ", type_name(x));
  return view_of(x);
}

Ref shared_arena_of(PyObject*, PyObject* x) {
  ArenaPtr arena = shared::arena_of(view_of_any(x));
  return arena ? arena_object(std::move(arena)) : Ref::borrow(Py_None);
}

Ref shared_find(PyObject* module, PyObject* x) {
  const core::ArrayView view = view_of_any(x);
  if (view.device() != core::Device{}) return Ref::borrow(Py_None);
  std::optional<core::Array> found = shared::found_in_arena(view);
  return found ? make_array(State::of_module(module), std::move(*found)) : Ref::borrow(Py_None);
}

Ref shared_send(PyObject*, PyObject* x) {
  static const SharingWay kHandle{"a handle", &PyExc_BufferError, SharingWay::Reader::kHost};
  static const SharingWay kOnDevice{"a handle", &PyExc_BufferError, SharingWay::Reader::kAny};
  const core::ArrayView view = view_of_any(x);
  if (runtime::is_shared(view)) {
    require_sharing(x, kOnDevice);
    return send_from_device(view);
  }
  if (shared::arena_of(view)) require_sharing(x, kHandle);  // else send() says what to do
  return bytes_of(shared::encode(shared::send(view)));
}

Ref shared_attach(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs < 1 || nargs > 3)
    raise(PyExc_TypeError, "_shared_attach() takes 1 to 3 arguments (%zd given)", nargs);
  const std::span<const std::byte> bytes = bytes_in(args[0], "handle");
  const bool on_device = is_of_device(bytes);
  if (nargs != 1 && nargs != (on_device ? 2 : 3))
    fail(Fault::kValue, "fds has ", nargs - 1, " descriptors; this handle has ", on_device ? 1 : 2);
  if (on_device) {
    const int file = nargs == 1 ? -1 : to_descriptor(args[1], "fds[0]");
    return attach_on_device(State::of_module(module), bytes, file);
  }
  const shared::Message message = shared::decode_message(bytes);
  ArenaPtr arena = nargs == 1 ? ArenaPtr() : opened(args[1], args[2]);
  if (!arena) arena = shared::find_or_open(message.source);
  return make_array(State::of_module(module), shared::attach(arena, message));
}

Ref shared_source(PyObject*, PyObject* object) {
  const shared::Source source = shared::source_of(*to_arena(object));
  return bytes_of(std::as_bytes(std::span(&source, 1)));
}

Ref shared_open(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  check_count("_shared_open", nargs, 3);
  if (ArenaPtr arena = opened(args[1], args[2])) return arena_object(std::move(arena));
  const std::span<const std::byte> bytes = bytes_in(args[0], "source");
  shared::Source source;
  if (bytes.size() != sizeof source)
    fail(Fault::kBuffer, "source has ", bytes.size(), " bytes; it must have ", sizeof source);
  std::memcpy(&source, bytes.data(), sizeof source);
  return arena_object(shared::find_or_open(source));
}

Ref shared_descriptors(PyObject*, PyObject* object) {
  const ArenaPtr arena = to_arena(object);
  shared::Descriptor control = shared::open_again(arena->control_file(), shared::Access::kWrite);
  shared::Descriptor data = shared::open_again(
      arena->data_file(), arena->peers_write() ? shared::Access::kWrite : shared::Access::kRead);
  Ref out = check(Py_BuildValue("(ii)", control.number(), data.number()));
  (void)control.release();  // the caller closes them
  (void)data.release();
  return out;
}

Ref shared_descriptor(PyObject*, PyObject* x) {
  return check(PyLong_FromLong(runtime::descriptor_of(view_of_any(x))));
}

Ref shared_collect(PyObject*, PyObject*) {
  std::uint64_t bytes = 0;
  const std::vector<ArenaPtr> arenas = shared::open_arenas();
  {
    const GilRelease released(true);
    for (const ArenaPtr& arena : arenas) bytes += arena->collect();
  }
  return check(PyLong_FromUnsignedLongLong(bytes));
}

Ref shared_limits(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  check_count("_shared_limits", nargs, 2);
  const char* const names[] = {"transit", "orphans"};
  std::atomic<std::uint32_t>* const values[] = {&shared::limits().transit,
                                                &shared::limits().orphans};
  std::int64_t given[2];
  for (int i = 0; i < 2; ++i) {
    given[i] = to_int64(args[i], names[i]);
    if (given[i] > shared::kCells)
      fail(Fault::kValue, names[i], " is ", given[i], "; the limit is ", shared::kCells);
  }
  for (int i = 0; i < 2; ++i)
    if (given[i] >= 0) *values[i] = static_cast<std::uint32_t>(given[i]);
  return check(Py_BuildValue("(II)", values[0]->load(), values[1]->load()));
}

Ref shared_usage(PyObject*, PyObject* object) {
  const ArenaPtr arena = to_arena(object);
  const shared::Usage usage = arena->usage();
  using Long = unsigned long long;
  const Ref id = bytes_of(std::as_bytes(std::span(arena->id())));
  return check(Py_BuildValue("(KKKIIIIOO)", Long{usage.limit}, Long{usage.file_bytes},
                             Long{usage.free_bytes}, usage.held, usage.sent, usage.dropped,
                             usage.processes, id.get(), arena->can_write() ? Py_True : Py_False));
}

}  // namespace

bool is_in_arena(const core::ArrayView& array) noexcept {
  return shared::arena_of(array) != nullptr;
}

PyMethodDef kSharedFunctions[] = {
    {"_shared_new", method<&shared_new>(), METH_FASTCALL, kNewDoc},
    {"_shared_empty", method<&shared_empty>(), METH_FASTCALL, kEmptyDoc},
    {"_shared_arena_of", method<&shared_arena_of>(), METH_O, kArenaOfDoc},
    {"_shared_find", method<&shared_find>(), METH_O, kFindDoc},
    {"_shared_send", method<&shared_send>(), METH_O, kSendDoc},
    {"_shared_attach", method<&shared_attach>(), METH_FASTCALL, kAttachDoc},
    {"_shared_source", method<&shared_source>(), METH_O, kSourceDoc},
    {"_shared_open", method<&shared_open>(), METH_FASTCALL, kOpenDoc},
    {"_shared_descriptors", method<&shared_descriptors>(), METH_O, kDescriptorsDoc},
    {"_shared_descriptor", method<&shared_descriptor>(), METH_O, kDescriptorDoc},
    {"_shared_collect", method<&shared_collect>(), METH_NOARGS, kCollectDoc},
    {"_shared_limits", method<&shared_limits>(), METH_FASTCALL, kLimitsDoc},
    {"_shared_usage", method<&shared_usage>(), METH_O, kUsageDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
