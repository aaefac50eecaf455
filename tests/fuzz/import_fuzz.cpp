// Fuzz target of the import: compares the validation of any managed tensor, legacy or versioned,
// with judge(), and checks memory accesses and that the deleter is called once.
#include <algorithm>
#include <cstring>

#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "verdict.hpp"

namespace refarray::fuzz {
namespace {

/// The memory that valid tensors point to; aligned, for reproducible addresses.
alignas(kBlock) std::byte block[kBlock];

bool lies_in_block(const Fields& fields, const Verdict& verdict) {
  const auto begin = reinterpret_cast<std::uintptr_t>(&block[0]);
  const Wide first = Wide{fields.data} + fields.byte_offset;
  return first + (verdict.low_bit - 7) / 8 >= Wide{begin} &&
         first + (verdict.high_bit + 7) / 8 <= Wide{begin} + kBlock;
}

void check_metadata(const Fields& fields, const Verdict& verdict, const dlpack::Imported& seen,
                    bool versioned) {
  const core::Array& array = seen.array;
  const std::size_t rank = fields.entries();
  require(array.layout.ndim == fields.ndim, "ndim");
  for (std::size_t axis = 0; axis < rank; ++axis) {
    require(array.layout.shape[axis] == fields.shape[axis], "shape");
    require(array.layout.strides[axis] == verdict.strides[axis], "strides");
  }
  const std::uint64_t flags = versioned ? fields.flags : 0;
  require(array.readonly == ((flags & 1) != 0), "readonly");
  require(array.storage->writable() != array.readonly, "writability of the storage");
  require(seen.copied == ((flags & 2) != 0), "copied");
  const bool padded = (flags & 4) != 0;
  require(array.dtype.stored_bits() == stored_bits(fields.dtype, padded),
          "stored bits of the dtype");
  require(static_cast<unsigned>(array.dtype.kind) == fields.dtype.code, "kind");
  std::int32_t type = 0;
  std::memcpy(&type, &fields.device.device_type, sizeof type);
  require(static_cast<std::int32_t>(seen.device.kind) == (fields.as_cpu ? 1 : type), "device");
  require(seen.device.id == 0, "device id of host memory");
  const std::uintptr_t first = verdict.empty ? 0 : fields.data + fields.byte_offset;
  require(reinterpret_cast<std::uintptr_t>(array.data) == first, "data");
}

bool same_bits(const std::byte* a, std::int64_t a_bit, const std::byte* b, std::int64_t b_bit,
               int count) {
  if (a_bit % 8 == 0 && b_bit % 8 == 0 && count % 8 == 0)
    return std::memcmp(a + a_bit / 8, b + b_bit / 8, static_cast<std::size_t>(count / 8)) == 0;
  unsigned difference = 0;
  for (; count > 0; --count, ++a_bit, ++b_bit) {
    difference |= std::to_integer<unsigned>(a[a_bit >> 3]) >> (a_bit & 7) ^
                  std::to_integer<unsigned>(b[b_bit >> 3]) >> (b_bit & 7);
  }
  return (difference & 1) == 0;
}

/// Copies the elements and compares each with the bits at its expected address.
void read_elements(const core::Array& array) {
  const std::int64_t size = array.view().size();
  if (size > 128) return;
  const core::Array dense = core::new_array(array.dtype, array.layout.extents(), false);
  core::copy(dense, array);
  const int bits = array.dtype.stored_bits();
  for (std::int64_t rank = 0; rank < size; ++rank) {
    std::int64_t from = 0;
    std::int64_t rest = rank;
    for (int axis = array.layout.ndim; axis-- > 0;) {
      from += rest % array.layout.shape[axis] * array.layout.strides[axis] * bits;
      rest /= array.layout.shape[axis];
    }
    require(same_bits(dense.data, rank * bits, array.data, from, bits), "bits of an element");
  }
}

/// Exports the array and imports it again: the result must be equal and share the storage, instead
/// of wrapping the exported tensor.
template <class M>
void round_trip(const core::Array& array) {
  dlpack::ExportPlan plan;
  try {
    plan = dlpack::decide_export(array, {dlpack::Wire<M>::versioned, dlpack::Copy::kNever, {}});
  } catch (const core::Error& error) {
    require(error.fault() == core::Fault::kBuffer, error.what());
    return;
  }
  dlpack::Managed<M> managed = dlpack::make_managed<M>(array, array.storage, plan.device,
                                                       /*copied=*/false, runtime::order_cpu({}));
  require(managed->dl_tensor.byte_offset == 0, "byte_offset of an export");
  dlpack::Imported back;
  dlpack::to_array(std::move(managed), back);
  require(back.array.storage.get() == array.storage.get(), "an own tensor shares the storage");
  require(back.array.data == array.data, "data after a round trip");
  require(back.array.dtype == array.dtype, "dtype after a round trip");
  const auto before = array.layout.stride_span();
  const auto after = back.array.layout.stride_span();
  require(array.view().size() == 0 || std::equal(before.begin(), before.end(), after.begin()),
          "strides after a round trip");
}

/// Of a prototype, only dtype, device and shape matter.
void allocate_like(const Fields& fields, const DLTensor& prototype) {
  Fields alone = fields;
  alone.has_strides = false;
  alone.byte_offset = 0;
  alone.data = reinterpret_cast<std::uintptr_t>(&block[0]);
  const std::optional<Verdict> verdict = judge(alone, false);
  Wide size = 1;
  for (std::size_t axis = 0; verdict && axis < fields.entries(); ++axis) {
    size *= fields.shape[axis];
    if (size > kBlock) return;  // valid, but too large for a fuzzer
  }
  try {
    const core::Array made = dlpack::allocate_like(prototype);
    require(verdict.has_value(), "an invalid prototype was accepted");
    require(made.view().size() == size, "size of the allocated array");
  } catch (const core::Error& error) {
    // judge() also rejects sizes beyond the address space, although a prototype has no address.
    // Pinned memory needs a driver, which the fuzzer does not have.
    const bool no_driver =
        prototype.device.device_type != kDLCPU && error.fault() == core::Fault::kBuffer;
    require(!verdict || no_driver || error.fault() == core::Fault::kMemory, error.what());
  }
}

template <class M>
void import_one(const Fields& fields, bool drop_early) {
  constexpr bool kVersioned = dlpack::Wire<M>::versioned;
  const std::optional<Verdict> verdict = judge(fields, kVersioned);
  int calls = 0;
  Producer<M> producer(fields, calls);
  const int expected_calls = fields.has_deleter ? 1 : 0;
  if (!kVersioned || fields.version.major == 1)
    allocate_like(fields, producer.managed()->dl_tensor);
  {
    dlpack::Imported seen;
    const auto label = fields.as_cpu ? dlpack::HostLabel::kCpu : dlpack::HostLabel::kAsLabelled;
    try {
      dlpack::to_array(dlpack::Managed<M>(producer.managed()), seen, label);
    } catch (const core::Error& error) {
      require(error.fault() == core::Fault::kBuffer, error.what());
      require(!verdict,
              [&] { return std::string("a valid tensor was rejected: ") + error.what(); });
      require(calls == expected_calls, "deleter calls after a rejection");
      return;
    }
    require(verdict.has_value(), "an invalid tensor was accepted");
    require(calls == 0, "the deleter was called while the array is alive");
    check_metadata(fields, *verdict, seen, kVersioned);
    if (!verdict->empty && lies_in_block(fields, *verdict)) read_elements(seen.array);
    core::StoragePtr last = seen.array.storage;
    if (drop_early) last = {};
    round_trip<DLManagedTensorVersioned>(seen.array);
    round_trip<DLManagedTensor>(seen.array);
    require(calls == 0, "the deleter was called while the array is alive");
  }
  require(calls == expected_calls, "deleter calls after the last reference was dropped");
}

}  // namespace
void run(Input& input) {
  const std::uint8_t mode = input.byte();
  for (std::size_t i = 0; block[1] == std::byte{0} && i < std::size(block); ++i)
    block[i] = static_cast<std::byte>(i * 37 + 5);
  const Fields fields = fields_from(input, reinterpret_cast<std::uintptr_t>(&block[0]));
  if ((mode & 1) != 0)
    import_one<DLManagedTensorVersioned>(fields, (mode & 2) != 0);
  else
    import_one<DLManagedTensor>(fields, (mode & 2) != 0);
}

}  // namespace refarray::fuzz
