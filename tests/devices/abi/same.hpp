// Whether two function types are ABI-compatible.
#pragma once

#include <type_traits>

/// Passed in the same registers: both floating-point or both not, equally large, both structs or
/// neither.
template <class Ours, class Theirs>
inline constexpr bool same_passing =
    sizeof(Ours) == sizeof(Theirs) &&
    std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs> &&
    std::is_class_v<Ours> == std::is_class_v<Theirs>;

/// The pointees have the same size.
template <class Ours, class Theirs>
inline constexpr bool same_pointee = true;
template <class Ours, class Theirs>
  requires requires {
    sizeof(Ours);
    sizeof(Theirs);
  }
inline constexpr bool same_pointee<Ours*, Theirs*> =
    std::is_function_v<Ours> || std::is_void_v<Ours> || std::is_void_v<Theirs> ||
    same_passing<Ours, Theirs>;

template <class Ours, class Theirs>
inline constexpr bool same = false;
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
inline constexpr bool same<R (*)(A...), S (*)(B...)> =
    same_passing<R, S> && ((same_passing<A, B> && same_pointee<A, B>) && ...);
