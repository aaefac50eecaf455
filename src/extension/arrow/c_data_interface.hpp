// The structs of the Arrow C data interface, whose binary layout is fixed, and owners of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace refarray::extension {

/// Names of the capsules (Arrow PyCapsule interface).
inline constexpr const char* kArrowSchemaCapsule = "arrow_schema";
inline constexpr const char* kArrowArrayCapsule = "arrow_array";

/// The type of an Arrow array. A consumer may move the struct by copying its bytes and setting
/// `release` of the original to nullptr. `release` frees what the struct refers to, not the struct.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

/// The memory of an Arrow array; moved and released as ArrowSchema is.
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

static_assert(sizeof(void*) != 8 || (sizeof(ArrowSchema) == 72 && sizeof(ArrowArray) == 80));
static_assert(sizeof(void*) != 8 ||
              (offsetof(ArrowSchema, release) == 56 && offsetof(ArrowArray, release) == 64));

/// Releases the contents, unless a consumer has moved them, and frees the struct.
struct ReleaseArrow {
  template <class Struct>
  void operator()(Struct* owned) const noexcept {
    if (owned->release != nullptr) owned->release(owned);
    delete owned;
  }
};
template <class Struct>
using ArrowPtr = std::unique_ptr<Struct, ReleaseArrow>;

}  // namespace refarray::extension
