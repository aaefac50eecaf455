// The names of keyword arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace refarray::extension {

/// Interned keyword names, which argument binding compares by pointer first. kKeywordTexts holds
/// their spelling in the same order.
enum class Key : std::uint8_t {
  kStream,
  kMaxVersion,
  kDlDevice,
  kCopy,
  kDevice,
  kDtype,
  kX,
  kObj,
  kShape,
  kFillValue,
  kStart,
  kStop,
  kStep,
  kAxes,
  kAxis,
  kSource,
  kDestination,
  kCapsule,
  kOrder,
  kRequestedSchema,
  kMin,
  kMax,
  kKind,
  kApiVersion,
  kKeepdims,
  kCorrection,
  kIncludeInitial,
  kN,
  kPrepend,
  kAppend,
  kIndices,
  kArrays,
  kRepeats,
  kShift,
  kRepetitions,
  kK,
  kNRows,
  kNCols,
  kNum,
  kEndpoint,
  kIndexing,
  kX1,
  kX2,
  kSide,
  kSorter,
  kInvert,
  kDescending,
  kStable,
  kNorm,
  kS,
  kD,
  kUpper,
  kMode,
  kFullMatrices,
  kOffset,
  kRtol,
  kOrd,
  kCount
};
inline constexpr std::array<const char*, static_cast<std::size_t>(Key::kCount)> kKeywordTexts{
    // clang-format off
    "stream", "max_version", "dl_device", "copy", "device", "dtype",
    "x", "obj", "shape", "fill_value", "start", "stop",
    "step", "axes", "axis", "source", "destination", "capsule",
    "order", "requested_schema", "min", "max", "kind", "api_version",
    "keepdims", "correction", "include_initial", "n", "prepend", "append",
    "indices", "arrays", "repeats", "shift", "repetitions", "k",
    "n_rows", "n_cols", "num", "endpoint", "indexing", "x1",
    "x2", "side", "sorter", "invert", "descending", "stable",
    "norm", "s", "d", "upper", "mode", "full_matrices",
    "offset", "rtol", "ord",
    // clang-format on
};

}  // namespace refarray::extension
