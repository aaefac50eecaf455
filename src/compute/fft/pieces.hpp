// Long loops of Fourier transforms, cut into pieces between which they can be interrupted.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/work_sharing.hpp"

namespace refarray::core {

/// Thrown when a check for interrupts ends the work.
struct Interrupted {};

/// Elements of a piece, which takes some milliseconds at most.
inline constexpr std::int64_t kPiece = std::int64_t{1} << 18;

/// Calls body(begin, end) for one part of [0, count) after the other. `width`: elements of a step.
/// Throws Interrupted.
template <class Body>
void in_pieces(std::int64_t count, std::int64_t width, const InterruptCheck& interrupt,
               const Body& body) {
  const std::int64_t piece = std::max(std::int64_t{1}, kPiece / width);
  for (std::int64_t at = 0; at < count; at += piece) {
    body(at, std::min(count, at + piece));
    if (count > piece && interrupt()) throw Interrupted{};
  }
}

}  // namespace refarray::core
