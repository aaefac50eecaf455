// Owns copies as Python sees them: when other threads run meanwhile, how Ctrl-C ends one, and the
// settings of all of them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/copy/copy.hpp"
#include "core/copy/plan.hpp"
#include "core/error.hpp"
#include "core/kernels/table.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/element.hpp"
#include "extension/array/manipulation.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/devices/devices.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostThreads = 256;

/// Lets signal handlers run while a copy is under way without the GIL: every kPause, because taking
/// the GIL can mean waiting for another thread.
class Interruptible {
 public:
  explicit Interruptible(GilRelease& released) noexcept : released_(released) {}
  core::InterruptCheck watch() noexcept {
    return {[](void* self) noexcept { return static_cast<Interruptible*>(self)->is_stopped(); },
            this};
  }

 private:
  static constexpr std::chrono::milliseconds kPause{20};

  bool is_stopped() noexcept {
    const Clock::time_point now = Clock::now();
    if (now - asked_ < kPause) return false;
    asked_ = now;
    return released_.run_handlers();
  }

  GilRelease& released_;
  Clock::time_point asked_ = Clock::now();
};

std::string isa_names() {
  const core::kernels::Choices all = core::kernels::choices();
  std::string out;
  for (int i = 0; i < all.count; ++i) {
    if (i > 0) out += ", ";
    out += all.tables[i]->name;
  }
  return out;
}

void use_isa(const char* name, const char* what) {
  if (core::kernels::use(name)) return;
  core::fail(Fault::kValue, what, " is '", name, "'; this processor runs ", isa_names());
}

void use_threads(std::int64_t count, const char* what) {
  if (count < 1 || count > kMostThreads)
    core::fail(Fault::kValue, what, " is ", count, "; the range is 1 to ", kMostThreads);
  core::set_copy_threads(static_cast<int>(count));
}

Ref set_copy_threads(PyObject*, PyObject* count) {
  use_threads(to_int64(count, "count"), "count");
  return Ref::borrow(Py_None);
}

Ref get_copy_threads(PyObject*, PyObject*) { return check(PyLong_FromLong(core::copy_threads())); }

Ref use_isa_function(PyObject*, PyObject* name) {
  if (!PyUnicode_Check(name)) core::fail(Fault::kType, "name must be a str, not ", type_name(name));
  use_isa(std::string(utf8(name)).c_str(), "name");
  return Ref::borrow(Py_None);
}

/// The copy alone, without an index to look at or a result to make.
Ref copy_into(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  const State& state = State::of_module(module);
  if (nargs != 2) core::fail(Fault::kType, "_copy_into() takes 2 arguments, not ", nargs);
  const core::ArrayView dst = to_view(state, args[0], "_copy_into");
  if (!dst.writable()) core::fail(Fault::kValue, "dst is read-only");
  copy_elements(dst, to_view(state, args[1], "_copy_into"));
  return Ref::borrow(Py_None);
}

/// What a copy of as many bytes costs at least: the unit of the copy benchmarks.
Ref copy_bytes(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  const State& state = State::of_module(module);
  if (nargs != 2) core::fail(Fault::kType, "_memcpy() takes 2 arguments, not ", nargs);
  const core::ArrayView dst = to_view(state, args[0], "_memcpy");
  const core::ArrayView src = to_view(state, args[1], "_memcpy");
  require_host(dst, "copying bytes");
  require_host(src, "copying bytes");
  if (!dst.writable() || !core::is_c_contiguous(dst.extents(), dst.stride_span()) ||
      !core::is_c_contiguous(src.extents(), src.stride_span()) || dst.nbytes() != src.nbytes()) {
    core::fail(Fault::kValue, "dst and src must be row-major, of one size, and dst writable");
  }
  const std::int64_t nbytes = dst.nbytes();
  {
    const GilRelease others_run(nbytes >= kReleaseGilAbove);
    std::memcpy(dst.data, src.data, static_cast<std::size_t>(nbytes));
  }
  return Ref::borrow(Py_None);
}

/// One call of the planner, again and again: what it takes is measured from outside.
Ref plan_copies(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  const State& state = State::of_module(module);
  if (nargs != 3) core::fail(Fault::kType, "_plan_copies() takes 3 arguments, not ", nargs);
  const core::ArrayView dst = to_view(state, args[0], "_plan_copies");
  const core::ArrayView src = to_view(state, args[1], "_plan_copies");
  if (!std::ranges::equal(dst.extents(), src.extents()) || dst.size() == 0 ||
      !core::can_convert(src.dtype, dst.dtype)) {
    core::fail(Fault::kValue, "dst and src must have one shape, elements, and dtypes that convert");
  }
  const std::int64_t count = to_int64(args[2], "count");
  std::int64_t axes = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const core::Plan plan(dst, src);
    axes += plan.ndim;
    asm volatile("" : : "r"(&plan) : "memory");  // every plan is made, wholly
  }
  return check(PyLong_FromLongLong(axes));
}

}  // namespace

namespace {

/// Waits, without the GIL, until the CPU may touch memory that devices use too.
[[gnu::noinline]] void settle(const core::ArrayView& array, bool writes) {
  if (!runtime::is_busy(array)) return;
  const DriverCalls here;
  runtime::wait_on_host(array, writes);
}

[[gnu::noinline]] void copy_by_device(const core::ArrayView& dst, const core::ArrayView& src,
                                      const runtime::StreamPtr& stream) {
  const DriverCalls here;
  runtime::copy(dst, src, stream);
}

}  // namespace

void copy_elements(const core::ArrayView& dst, const core::ArrayView& src) {
  if (!dst.device().is_host() || !src.device().is_host()) [[unlikely]] {
    return copy_by_device(dst, src, nullptr);
  }
  require_host(dst, "copying elements");
  require_host(src, "copying elements");
  if (dst.nbytes() < kReleaseGilAbove) {
    core::copy(dst, src);
    return;
  }
  GilRelease others_run(true);
  Interruptible interruptible(others_run);
  const bool is_whole = core::copy(dst, src, interruptible.watch());
  if (!is_whole) throw ErrorSet{};  // a handler's; the GIL comes back on the way out
}

void require_host(const core::ArrayView& array, const char* what, bool writes) {
  const core::Device device = array.device();
  if (device == core::Device{}) [[likely]]
    return;
  if (!device.is_host()) {
    core::fail(Fault::kBuffer, what, " needs memory that the CPU can read; the array is on ",
               core::name(device), "; x.to_device(\"cpu\") makes a copy there");
  }
  settle(array, writes);
}

core::ArrayView to_readable(const core::ArrayView& array, const char* what, core::Array& keeper) {
  if (array.device().is_host()) {
    require_host(array, what, /*writes=*/false);
    return array;
  }
  keeper = copy_to_new(array, array.dtype);
  return keeper;
}

core::Array copy_to_new(const core::ArrayView& array, const core::DType& dtype,
                        const core::Device& device) {
  if (device == core::Device{}) [[likely]] {
    core::Array out = core::new_array(dtype, array.extents(), /*zeroed=*/false);
    copy_elements(out, array);
    return out;
  }
  core::Array out = allocate_on(device, dtype, array.extents(), /*zeroed=*/false);
  copy_elements(out, array);
  return out;
}

core::Array allocate_on(const core::Device& device, const core::DType& dtype, core::Extents shape,
                        bool zeroed) {
  if (device == core::Device{}) [[likely]]
    return core::new_array(dtype, shape, zeroed);
  const DriverCalls here;
  return runtime::new_array(dtype, shape, device, zeroed);
}

core::Array copy_to_new_on(const core::ArrayView& array, const core::Device& device,
                           const runtime::StreamPtr& stream) {
  const DriverCalls here;
  core::Array out =
      runtime::new_array(array.dtype, array.extents(), device, /*zeroed=*/false, stream);
  if (out.view().device().is_host() && array.device().is_host()) {
    runtime::wait_on_host(array, /*writes=*/false);
    core::copy(out, array);
  } else {
    runtime::copy(out, array, stream);
  }
  return out;
}

void read_copy_settings() {
  static constexpr std::array<const char*, 2> kVariables = {
      "REFARRAY_ISA",
      "REFARRAY_COPY_THREADS",
  };
  const char* const isa = std::getenv(kVariables[0]);
  if (isa != nullptr && *isa != '\0') use_isa(isa, kVariables[0]);
  const char* const threads = std::getenv(kVariables[1]);
  if (threads == nullptr || *threads == '\0') return;
  char* end = nullptr;
  const std::int64_t count = std::strtoll(threads, &end, 10);
  use_threads(*end == '\0' ? count : 0, kVariables[1]);
}

PyMethodDef kCopyingFunctions[] = {
    {"set_copy_threads", method<&set_copy_threads>(), METH_O,
     "set_copy_threads($module, count, /)\n--\n\n"
     "Lets `count` threads share each copy of more than 4 MiB, the calling one among them.\n\n"
     "count: 1 (the default, or what REFARRAY_COPY_THREADS says) to 256. The others are started "
     "for a copy and end\n"
     "with it, so a fork is safe at any time. For the whole process; a copy under way keeps its "
     "number. Raises\n"
     "ValueError for a count out of range."},
    {"get_copy_threads", method<&get_copy_threads>(), METH_NOARGS,
     "get_copy_threads($module, /)\n--\n\n"
     "How many threads share each copy of more than 4 MiB; see set_copy_threads."},
    {"_use_isa", method<&use_isa_function>(), METH_O,
     "_use_isa($module, name, /)\n--\n\n"
     "Copies use the kernels of that instruction set from now on, in the whole process: a name out "
     "of\n_build_info()['isas']. Raises ValueError for any other."},
    {"_copy_into", method<&copy_into>(), METH_FASTCALL,
     "_copy_into($module, dst, src, /)\n--\n\ndst[...] = src for equal shapes: for the "
     "benchmarks."},
    {"_memcpy", method<&copy_bytes>(), METH_FASTCALL,
     "_memcpy($module, dst, src, /)\n--\n\n"
     "The bytes of one row-major array into another by the C library: for the benchmarks."},
    {"_plan_copies", method<&plan_copies>(), METH_FASTCALL,
     "_plan_copies($module, dst, src, count, /)\n--\n\n"
     "Plans the copy of src to dst `count` times and carries none of them out: for the "
     "benchmarks."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
