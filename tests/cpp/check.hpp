// The harness of the C++ tests: self-registering cases, checks that print both values, and main().
#pragma once

#include <cstdio>
#include <exception>
#include <source_location>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace refarray::check {

using Where = std::source_location;

inline long checks_made = 0;
inline long checks_failed = 0;

struct Case;
inline std::vector<const Case*>& all_cases() {
  static std::vector<const Case*> cases;
  return cases;
}

/// Defined at namespace scope: `const Case sizes("sizes of small shapes", [] { ... });`
struct Case {
  std::string_view name;
  void (*body)();
  Case(std::string_view the_name, void (*the_body)()) : name(the_name), body(the_body) {
    all_cases().push_back(this);
  }
};

/// Call checks on the main thread only: the counters are not atomic.
inline void check(bool holds, const std::string& note = "does not hold",
                  Where at = Where::current()) {
  ++checks_made;
  if (holds) return;
  if (++checks_failed > 50) return;  // limits the output
  std::printf("%s:%u: %s\n", at.file_name(), static_cast<unsigned>(at.line()), note.c_str());
}

template <class A, class B>
void expect(const A& seen, const B& expected, const std::string& note = "",
            Where at = Where::current()) {
  if (seen == expected) return check(true, note, at);
  std::ostringstream out;
  out << "saw " << seen << ", expected " << expected << "; " << note;
  check(false, out.str(), at);
}

/// `body` throws core::Error with this fault and a message that contains `part`.
template <class Body>
void fails(core::Fault fault, std::string_view part, const Body& body,
           Where at = Where::current()) {
  try {
    body();
  } catch (const core::Error& error) {
    check(error.fault() == fault, std::string("wrong fault: ") + error.what(), at);
    check(std::string_view(error.what()).find(part) != std::string_view::npos, error.what(), at);
    return;
  }
  check(false, "no exception; expected: " + std::string(part), at);
}

}  // namespace refarray::check

/// Under sanitizers too, a failed allocation returns nullptr instead of aborting. Default
/// visibility, so that the shared library of the sanitizer finds these functions.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}

int main() {
  using namespace refarray::check;
  for (const Case* each : all_cases()) {
    const long failed_before = checks_failed;
    try {
      each->body();
    } catch (const std::exception& error) {
      check(false, std::string("uncaught: ") + error.what());
    }
    if (checks_failed != failed_before) std::printf("FAILED %s\n", std::string(each->name).c_str());
  }
  std::printf("%zu cases, %ld checks, %ld failed\n", all_cases().size(), checks_made,
              checks_failed);
  return checks_failed == 0 && checks_made > 0 ? 0 : 1;
}
