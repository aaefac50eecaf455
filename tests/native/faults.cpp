// Owns letting allocations fail: the interpreter's by its own hooks, the C heap's through the
// preloaded library beside this folder; and where in refarray they failed.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <cstring>
#include <mutex>
#include <set>
#include <string_view>

#include "parts.hpp"

namespace adversary {
namespace {

struct Range {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
  bool holds(std::uintptr_t at) const noexcept { return at >= first && at < end; }
};
struct Loaded {
  std::string_view name;  // the path has to contain it; empty: the object that holds `inside`
  const void* inside = nullptr;
  Range found;
};

/// The addresses of a loaded object.
int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& wanted = *static_cast<Loaded*>(data);
  Range whole;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t first = info->dlpi_addr + header.p_vaddr;
    if (whole.end == 0) whole.first = first;
    whole.end = first + header.p_memsz;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(wanted.inside);
  const bool match = wanted.inside != nullptr
                         ? at >= whole.first && at < whole.end
                         : std::string_view(info->dlpi_name).find(wanted.name) != std::string::npos;
  if (match) wanted.found = whole;
  return match ? 1 : 0;
}

Range range_of(std::string_view name, const void* inside = nullptr) {
  Loaded wanted{name, inside, {}};
  dl_iterate_phdr(visit, &wanted);
  return wanted.found;
}

/// The interpreter's loop: frames inside it run Python code.
Range loop_range() {
  const void* loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  Dl_info info{};
  void* symbol = nullptr;
  if (loop == nullptr || dladdr1(loop, &info, &symbol, RTLD_DL_SYMENT) == 0)
    fail(PyExc_RuntimeError, "the interpreter's loop was not found");
  const auto first = reinterpret_cast<std::uintptr_t>(loop);
  return {first, first + static_cast<const ElfW(Sym)*>(symbol)->st_size};
}

/// The places in refarray below which an allocation failed, as offsets into its extension.
struct Sites {
  std::mutex mutex;
  std::set<std::uintptr_t> offsets;
  Range native;
  Range loop;  // the interpreter's: what lies between it and the failure is not called by refarray
  volatile unsigned char* mark = nullptr;  // survives a crash: 1 below refarray, 2 elsewhere
};
Sites& sites() {
  static Sites& it = *new Sites;
  return it;
}

thread_local long below;  // failures below refarray's own code since something was armed

void note_site() noexcept {
  constexpr int kDeepest = 64;
  void* frames[kDeepest];
  const int depth = backtrace(frames, kDeepest);
  Sites& all = sites();
  if (all.mark != nullptr) *all.mark = 2;
  for (int i = 0; i < depth; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(frames[i]);
    if (all.loop.holds(at)) return;
    if (!all.native.holds(at)) continue;
    if (all.mark != nullptr) *all.mark = 1;
    ++below;
    const std::lock_guard lock(all.mutex);
    all.offsets.insert(at - all.native.first);
    return;
  }
}

/// The interpreter's three allocators, with a fault planned for the arming thread.
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
  armed = false;  // noting allocates
  note_site();
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

/// Once; the hooks stay, and pass everything on while nothing is armed.
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

/// Learns where refarray lies. With the library preloaded its blocks are counted from now on.
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
    set(exempt_range, 1, range_of("", reinterpret_cast<const void*>(&note_site)));
    set(exempt_range, 2, range_of("/libstdc++.so"));  // the adversary's; refarray has one inside
    set(exempt_range, 3,
        range_of("/ld-linux"));  // without memory for thread-locals it ends the process
    return Py_NewRef(Py_True);
  });
}

/// fail_allocations(heap, first, count): `count` allocations of this thread from number `first` on
/// fail, the interpreter's or the C heap's.
PyObject* fail_allocations(PyObject*, PyObject* args) {
  return guarded([&] {
    int heap = 0;
    long first = 0;
    long count = 0;
    if (PyArg_ParseTuple(args, "pll", &heap, &first, &count) == 0) throw PythonError{};
    below = 0;
    if (heap != 0) {
      const auto arm = preloaded<void (*)(long, long, void (*)())>("heap_faults_arm");
      arm(first, count, [] { note_site(); });
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

/// (allocations seen, failed, failed below refarray's own code) since fail_allocations().
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

/// Where each failure shall leave a mark, in memory that outlives the process.
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
    {"watch", watch, METH_O, "Names refarray's extension; is the C heap's library preloaded?"},
    {"fail_allocations", fail_allocations, METH_VARARGS, "(heap, first, count)"},
    {"stop_failing", stop_failing, METH_NOARGS,
     "(allocations seen, failed, failed below refarray)"},
    {"mark_failures", mark_failures, METH_O, "An address for marks: 1 below refarray, else 2."},
    {"live_heap_blocks", live_heap_blocks, METH_NOARGS, "Blocks that refarray has on the C heap."},
    {"failing_sites", failing_sites, METH_NOARGS,
     "Offsets in refarray below which something failed."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_faults(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
