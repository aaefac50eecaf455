// Fault injection: makes allocations fail, the interpreter's by its allocator hooks and the C
// heap's by preload/heap_faults.cpp, and records where in refarray they failed.
#include "parts.hpp"

#if defined(__GLIBC__)
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <cstring>
#include <mutex>
#include <set>
#include <string_view>

namespace adversary {
namespace {

struct Range {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
  bool contains(std::uintptr_t at) const noexcept { return at >= first && at < end; }
};
/// A search for a loaded object.
struct ObjectSearch {
  std::string_view name;  // part of its path; ignored if `inside` is set
  const void* inside = nullptr;
  Range found;
};

/// Callback of dl_iterate_phdr().
int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<ObjectSearch*>(data);
  Range whole;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t first = info->dlpi_addr + header.p_vaddr;
    if (whole.end == 0) whole.first = first;
    whole.end = first + header.p_memsz;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(search.inside);
  const bool match = search.inside != nullptr
                         ? at >= whole.first && at < whole.end
                         : std::string_view(info->dlpi_name).find(search.name) != std::string::npos;
  if (match) search.found = whole;
  return match ? 1 : 0;
}

/// The address range of a loaded object.
Range range_of(std::string_view name, const void* inside = nullptr) {
  ObjectSearch search{name, inside, {}};
  dl_iterate_phdr(visit, &search);
  return search.found;
}

/// The interpreter's evaluation loop: frames inside it run Python code.
Range loop_range() {
  const void* loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  Dl_info info{};
  void* symbol = nullptr;
  if (loop == nullptr || dladdr1(loop, &info, &symbol, RTLD_DL_SYMENT) == 0)
    fail(PyExc_RuntimeError, "the interpreter's evaluation loop was not found");
  const auto first = reinterpret_cast<std::uintptr_t>(loop);
  return {first, first + static_cast<const ElfW(Sym)*>(symbol)->st_size};
}

/// The innermost return addresses in refarray below which an allocation failed, as offsets.
struct Sites {
  std::mutex mutex;
  std::set<std::uintptr_t> offsets;
  Range native;
  Range loop;  // the evaluation loop: if it called the allocation, refarray did not
  // In shared memory, so that it survives a crash. 1: failed below refarray, 2: elsewhere.
  volatile unsigned char* mark = nullptr;
};
Sites& sites() {
  static Sites& it = *new Sites;
  return it;
}

thread_local long below;  // failures below refarray since arming

/// Records the site of the current failure: walks the stack outwards to the first frame in refarray
/// or in the evaluation loop.
void record_site() noexcept {
  constexpr int kDeepest = 64;
  void* frames[kDeepest];
  const int depth = backtrace(frames, kDeepest);
  Sites& all = sites();
  if (all.mark != nullptr) *all.mark = 2;
  for (int i = 0; i < depth; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(frames[i]);
    if (all.loop.contains(at)) return;
    if (!all.native.contains(at)) continue;
    if (all.mark != nullptr) *all.mark = 1;
    ++below;
    const std::lock_guard lock(all.mutex);
    all.offsets.insert(at - all.native.first);
    return;
  }
}

/// The interpreter's three allocator domains. Faults apply to the arming thread only.
constexpr PyMemAllocatorDomain kDomains[] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
PyMemAllocatorEx originals[3];
bool hooked = false;
thread_local bool armed = false;
thread_local long seen, failed, first_failing, failing;

bool fails() noexcept {
  if (!armed) return false;
  const long number = seen++;
  if (number < first_failing || (failing >= 0 && number >= first_failing + failing)) return false;
  ++failed;
  armed = false;  // record_site() allocates
  record_site();
  armed = true;
  return true;
}

void* hook_malloc(void* context, std::size_t size) {
  const auto& to = *static_cast<PyMemAllocatorEx*>(context);
  return fails() ? nullptr : to.malloc(to.ctx, size);
}
void* hook_calloc(void* context, std::size_t count, std::size_t size) {
  const auto& to = *static_cast<PyMemAllocatorEx*>(context);
  return fails() ? nullptr : to.calloc(to.ctx, count, size);
}
void* hook_realloc(void* context, void* block, std::size_t size) {
  const auto& to = *static_cast<PyMemAllocatorEx*>(context);
  return fails() ? nullptr : to.realloc(to.ctx, block, size);
}
void hook_free(void* context, void* block) {
  const auto& to = *static_cast<PyMemAllocatorEx*>(context);
  to.free(to.ctx, block);
}

/// Installed once. While nothing is armed, the hooks forward every call.
void install_hooks() {
  if (hooked) return;
  for (int i = 0; i < 3; ++i) {
    PyMem_GetAllocator(kDomains[i], &originals[i]);
    PyMemAllocatorEx mine{&originals[i], hook_malloc, hook_calloc, hook_realloc, hook_free};
    PyMem_SetAllocator(kDomains[i], &mine);
  }
  hooked = true;
}

template <class Function>
Function preloaded(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) fail(PyExc_RuntimeError, "heap_faults is not preloaded: no %s", name);
  return reinterpret_cast<Function>(found);
}

/// Sets the extension whose failures and, with the library preloaded, heap blocks are tracked.
/// Returns whether the library is preloaded.
PyObject* watch(PyObject*, PyObject* path) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(path);
    if (text == nullptr) throw PythonError{};
    sites().native = range_of(text);
    sites().loop = loop_range();
    if (sites().native.end == 0) fail(PyExc_ValueError, "%s is not loaded", text);
    void* warm[4];
    backtrace(warm, 4);  // loads the unwinder now
    if (dlsym(RTLD_DEFAULT, "heap_faults_watch") == nullptr) return Py_NewRef(Py_False);
    const auto watch_range =
        preloaded<void (*)(int, std::uintptr_t, std::uintptr_t)>("heap_faults_watch");
    const auto exempt_range =
        preloaded<void (*)(int, std::uintptr_t, std::uintptr_t)>("heap_faults_exempt");
    const auto set = [](auto function, int slot, Range range) {
      function(slot, range.first, range.end);
    };
    set(watch_range, 0, sites().native);
    set(exempt_range, 0, range_of("", reinterpret_cast<const void*>(&PyMem_Malloc)));
    set(exempt_range, 1, range_of("", reinterpret_cast<const void*>(&record_site)));
    set(exempt_range, 2,
        range_of("/libstdc++.so"));  // the adversary's; refarray links it statically
    set(exempt_range, 3,
        range_of("/ld-linux"));  // aborts the process if it cannot allocate thread-locals
    return Py_NewRef(Py_True);
  });
}

/// fail_allocations(heap, first, count): makes `count` allocations of this thread from number
/// `first` on fail (all if negative): the C heap's if `heap`, else the interpreter's.
PyObject* fail_allocations(PyObject*, PyObject* args) {
  return guarded([&] {
    int heap = 0;
    long first = 0;
    long count = 0;
    if (PyArg_ParseTuple(args, "pll", &heap, &first, &count) == 0) throw PythonError{};
    below = 0;
    if (heap != 0) {
      const auto arm = preloaded<void (*)(long, long, void (*)())>("heap_faults_arm");
      arm(first, count, [] { record_site(); });
      return Py_NewRef(Py_None);
    }
    install_hooks();
    seen = failed = 0;
    first_failing = first;
    failing = count;
    armed = true;
    return Py_NewRef(Py_None);
  });
}

/// Returns the numbers of allocations seen, failed, and failed below refarray since
/// fail_allocations().
PyObject* stop_failing(PyObject*, PyObject*) {
  return guarded([] {
    if (std::exchange(armed, false)) return Py_BuildValue("(lll)", seen, failed, below);
    const auto disarm = preloaded<void (*)(long*, long*)>("heap_faults_disarm");
    long all = 0;
    long down = 0;
    disarm(&all, &down);
    return Py_BuildValue("(lll)", all, down, below);
  });
}

/// Sets the address of a byte in shared memory that each failure marks.
PyObject* mark_failures(PyObject*, PyObject* address) {
  return guarded([&] {
    sites().mark = reinterpret_cast<volatile unsigned char*>(to_uint64(address));
    return Py_NewRef(Py_None);
  });
}

PyObject* live_heap_blocks(PyObject*, PyObject*) {
  return guarded([] { return PyLong_FromLong(preloaded<long (*)()>("heap_faults_live")()); });
}

PyObject* failing_sites(PyObject*, PyObject*) {
  return guarded([] {
    Ref out(PyList_New(0));
    for (const std::uintptr_t offset : sites().offsets) {
      const Ref item(PyLong_FromSize_t(offset));
      if (PyList_Append(out.get(), item.get()) < 0) throw PythonError{};
    }
    return out.release();
  });
}

PyMethodDef functions[] = {
    {"watch", watch, METH_O,
     "Track the extension at this path; return whether heap_faults is preloaded."},
    {"fail_allocations", fail_allocations, METH_VARARGS,
     "(heap, first, count): make allocations fail."},
    {"stop_failing", stop_failing, METH_NOARGS,
     "Stop; return (allocations seen, failed, failed below refarray)."},
    {"mark_failures", mark_failures, METH_O,
     "Set the address that failures mark: 1 below refarray, else 2."},
    {"live_heap_blocks", live_heap_blocks, METH_NOARGS,
     "Return how many C heap blocks refarray holds."},
    {"failing_sites", failing_sites, METH_NOARGS,
     "Return the offsets in refarray below which allocations failed."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_faults(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary

#else
void adversary::add_faults(PyObject*) {}  // musl has neither backtrace() nor dladdr1()
#endif
