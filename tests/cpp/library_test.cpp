// Tests of the system's loader of libraries, and of the search for the vendors' drivers.
#include "runtime/drivers/library.hpp"

#include "check.hpp"
#include "runtime/drivers/dynamic_library.hpp"

namespace {

using namespace refarray::runtime;
using namespace refarray::check;

#if defined(_WIN32)
constexpr const char *kLibrary = "kernel32", *kFunction = "GetTickCount64";
#else
constexpr const char *kLibrary = "libc.so", *kFunction = "malloc";
#endif

const Case process("functions of the process are found by their names", [] {
  check(symbol_of_process(kFunction) != nullptr || find_loaded(kLibrary).empty());
  check(symbol_of_process("refarray_has_no_such_function") == nullptr);
});

const Case loaded("a library of the process is found by the beginning of its name", [] {
  const std::string path = find_loaded(kLibrary);
  if (path.empty()) return;  // a static program has none
  std::string why;
  void* const library = open_library(path, /*only_loaded=*/true, why);
  check(library != nullptr, why);
  check(library == open_library(path, /*only_loaded=*/false, why), why);
  check(symbol_of(library, kFunction) != nullptr);
  check(symbol_of(library, "refarray_has_no_such_function") == nullptr);
  check(find_loaded("refarray-has-no-such-library").empty());
});

const Case missing("for a library that cannot be opened there is a reason", [] {
  for (const char* file : {"refarray-no-such-library", "no-such-folder/refarray-no-such-library"}) {
    std::string why;
    check(open_library(file, /*only_loaded=*/false, why) == nullptr);
    check(!why.empty());
  }
});

const Case drivers("the search for a driver ends with a library or with a reason", [] {
  for (const Library& found : {open_cuda_library(), open_hip_library()}) {
    check(!found.file.empty());
    check((found.handle == nullptr) == !found.why.empty(), found.why);
  }
});

const Case unset("a variable that is not set is empty", [] {
  check(environment_variable("REFARRAY_NO_SUCH_VARIABLE").empty());
  check(!environment_variable("PATH").empty());
});

}  // namespace
