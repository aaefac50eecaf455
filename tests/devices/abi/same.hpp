// Owns what it means that two function types can stand for each other in a call between libraries.
#pragma once

#include <type_traits>

/// A parameter travels in the same way: floating-point numbers in registers of their own, pointers
/// and integers of one size in the same ones, a struct by its size.
template <class Ours, class Theirs>
inline constexpr bool same_way =
    sizeof(Ours) == sizeof(Theirs) &&
    std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs> &&
    std::is_class_v<Ours> == std::is_class_v<Theirs>;

/// What a pointer leads to has the size that the other side reads or writes there.
template <class Ours, class Theirs>
inline constexpr bool same_target = true;
template <class Ours, class Theirs>
  requires requires {
    sizeof(Ours);
    sizeof(Theirs);
  }
inline constexpr bool same_target<Ours*, Theirs*> =
    std::is_function_v<Ours> || std::is_void_v<Ours> || std::is_void_v<Theirs> ||
    same_way<Ours, Theirs>;

template <class Ours, class Theirs>
inline constexpr bool same = false;
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
inline constexpr bool same<R (*)(A...), S (*)(B...)> =
    same_way<R, S> && ((same_way<A, B> && same_target<A, B>) && ...);
