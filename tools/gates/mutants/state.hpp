// Included before every source of the build: which mutant is on. See state.cpp.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

namespace refarray_mutants {

struct State {
  volatile int current;  // the number of the mutant that is on; 0: none
  volatile unsigned char reached[1 << 20];
};
extern State* state __attribute__((visibility("hidden")));

// What the compiler evaluates has no mutant.
constexpr bool on(int number) {
  if (__builtin_is_constant_evaluated()) return false;
  state->reached[number] = 1;
  return state->current == number;
}

// A variable of type T whose name nobody uses, made unless the mutant is on.
template <int kNumber, class T>
struct Maybe {
  std::optional<T> made;
  template <class... Arguments>
  explicit Maybe(Arguments&&... arguments) {
    if (!on(kNumber)) made.emplace(std::forward<Arguments>(arguments)...);
  }
};

// A number or pointer that is passed to a function: zero if the mutant is on.
template <int kNumber, class T, class = std::enable_if_t<std::is_scalar_v<T>>>
constexpr T argument(T value) {
  return on(kNumber) ? T{} : value;
}

}  // namespace refarray_mutants
