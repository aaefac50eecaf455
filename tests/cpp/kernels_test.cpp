// Tests that the kernels of all instruction sets give identical results: copies are compared with
// memcpy() of single elements, conversions with the plain kernels.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "check.hpp"
#include "core/copy/chunks.hpp"
#include "core/copy/copy.hpp"
#include "core/copy/plan.hpp"
#include "core/kernels/table.hpp"
#include "operands.hpp"
#include "placement.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

void for_each_table(const std::function<void(const kernels::Table&)>& body) {
  const kernels::Choices all = kernels::choices();
  for (int i = 0; i < all.count; ++i) {
    check(kernels::use(all.tables[i]->name));
    body(*all.tables[i]);
  }
  kernels::use(all.tables[0]->name);
}

/// Any strides in a block without a byte to spare. `shift`: bytes before the lowest element.
Placement placed(const DType& dtype, const List& shape, const List& strides, std::int64_t shift) {
  Placement out{dtype, shape, strides, 8 * shift};
  const BitRange range = checked_bit_range(shape, strides, dtype);
  out.origin -= range.begin;
  out.nbytes = (out.origin + range.end) / 8;
  return out;
}

/// Compares every kernel table, with ordinary and with non-temporal stores, with memcpy() of single
/// elements. The shifts are byte offsets of the first element in its block.
void expect_move(const DType& dtype, const List& shape, const List& dst_strides,
                 const List& src_strides, std::int64_t dst_shift, std::int64_t src_shift) {
  const auto size = static_cast<std::size_t>(dtype.itemsize());
  const Placement dst = placed(dtype, shape, dst_strides, dst_shift);
  const Placement src = placed(dtype, shape, src_strides, src_shift);
  Bytes source = random_bytes(src.nbytes);
  const Bytes before = random_bytes(dst.nbytes);
  Bytes expected = before;
  const List to = dst.addresses(), from = src.addresses();
  for (std::size_t i = 0; i < to.size(); ++i)
    std::memcpy(dst.at(expected, to[i]).data, src.at(source, from[i]).data, size);
  for_each_table([&](const kernels::Table& table) {
    for (const std::int64_t threshold : {kDefaultStreamingThreshold, std::int64_t{0}}) {
      set_streaming_threshold(threshold);
      Bytes seen = before;
      copy(dst.in(seen), src.in(source));
      check(seen == expected, text(describe(dst, src), " by ", table.name, " shifts ", dst_shift,
                                   " ", src_shift, threshold == 0 ? ", streaming" : ""));
    }
    set_streaming_threshold(kDefaultStreamingThreshold);
  });
}

void expect_move(const DType& dtype, const List& shape, const List& dst_strides,
                 const List& src_strides) {
  expect_move(dtype, shape, dst_strides, src_strides, random_below(64), random_below(64));
}

std::vector<DType> move_types() {
  std::vector<DType> types;
  for (const char* text : {"int8", "float16", "float32", "float64", "complex128", "int8x3",
                           "float32x3", "float64x3", "complex128x2", "float16x8"}) {
    types.push_back(type(text));
  }
  return types;
}

/// Strides of an array whose axes are in `order` in memory, outermost first; the innermost axis has
/// the stride `step` and is followed by `gap` elements.
List strides_of(const List& shape, const List& order, std::int64_t step, std::int64_t gap) {
  List out(shape.size());
  std::int64_t next = step;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    out[axis] = next;
    next *= shape[axis];
    if (i + 1 == order.size()) next += gap;
  }
  return out;
}

const Case layouts("random layouts of up to 8 axes", [] {
  Random random(7);
  for (const DType& dtype : move_types()) {
    for (int round = 0; round < 150; ++round) {
      const auto rank = static_cast<std::size_t>(random.between(1, 8));
      List shape = random.list(rank, 1, rank > 4 ? 3 : 5);
      shape[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(rank) - 1))] =
          random.between(1, 40);
      List strides[2];
      for (int side = 0; side < 2; ++side) {
        strides[side] =
            strides_of(shape, random.permutation(rank), random.between(0, 3) == 0 ? 2 : 1,
                       random.between(0, 3) == 0 ? 1 : 0);
        for (std::int64_t& stride : strides[side]) {
          if (random.between(0, 4) == 0) stride = -stride;
          if (side == 1 && random.between(0, 9) == 0) stride = 0;
        }
      }
      expect_move(dtype, shape, strides[0], strides[1]);
    }
  }
});

const Case transposes("transposes of sizes around those of blocks, cache lines and tiles", [] {
  Random random(8);
  for (const DType& dtype : move_types()) {
    for (int round = 0; round < 60; ++round) {
      const List shape = {random.between(1, 3), random.between(1, round % 4 == 0 ? 300 : 70),
                          random.between(1, round % 4 == 1 ? 300 : 70)};
      const std::int64_t step = random.between(0, 5) == 0 ? 2 : 1;
      List src = strides_of(shape, {0, 2, 1}, step, random.between(0, 3));
      List dst =
          strides_of(shape, {0, 1, 2}, random.between(0, 5) == 0 ? 2 : 1, random.between(0, 3));
      if (round % 3 == 0) src[1] = -src[1];
      if (round % 5 == 0) src[2] = -src[2];
      expect_move(dtype, shape, dst, src);
    }
    // src rows that map to the same cache sets, and dst columns aligned to cache lines.
    expect_move(dtype, {64, 96}, {128, 1}, {1, 1024});
  }
});

const Case interleaving("interleaving and deinterleaving of two to five sequences", [] {
  Random random(9);
  for (const DType& dtype : move_types()) {
    for (std::int64_t parts = 2; parts <= 5; ++parts) {
      for (const std::int64_t count : {1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 100, 129, 1000}) {
        const std::int64_t part_stride = count + random.between(0, 2);
        expect_move(dtype, {count, parts}, {parts, 1}, {1, part_stride});
        expect_move(dtype, {parts, count}, {part_stride, 1}, {1, parts});
        expect_move(dtype, {count, parts}, {parts, 1}, {1, -part_stride});
      }
    }
  }
});

const Case steps("rows with every pair of small steps", [] {
  for (const DType& dtype : move_types()) {
    for (std::int64_t to = -2; to <= 4; ++to) {
      for (std::int64_t from = -5; from <= 5; ++from) {
        if (to == 0) continue;
        for (const std::int64_t count : {1, 5, 17, 64, 65, 200})
          expect_move(dtype, {3, count}, {to * count, to}, {from * count + 1, from});
      }
    }
  }
});

// Non-temporal stores write whole cache lines, so the kernels write the head and the tail of a row
// separately. Covers every misalignment of dst, and lengths around the streaming threshold of the
// kernels.
const Case misaligned("non-temporal stores to rows at every offset in a cache line", [] {
  Random random(14);
  for (const char* text : {"int8", "float16", "float32", "float64", "complex128"}) {
    const DType dtype = type(text);
    const std::int64_t line = 64 / dtype.itemsize();
    for (std::int64_t shift = 0; shift < 64; ++shift) {
      for (const std::int64_t step : {1, 0, -1, 2, 3, 4, 5}) {
        for (const std::int64_t count : {line, line + 1, 2 * line, 2 * line + 1, 4 * line + 1,
                                         8 * line + 3, 32 * line, 33 * line - 1, 35 * line + 1})
          expect_move(dtype, {count}, {1}, {step}, shift, random.between(0, 63));
      }
      const std::int64_t count = 3 * line + shift % line;
      for (const std::int64_t parts : {2, 3, 4}) {
        expect_move(dtype, {count, parts}, {parts, 1}, {1, count + 1}, shift, 64 - shift);
        expect_move(dtype, {parts, count}, {4 * line * 4, 1}, {1, parts}, shift, shift);
      }
      expect_move(dtype, {2 * line + 3, 3 * line + 1}, {4 * line, 1}, {1, 4 * line}, shift,
                  random.between(0, 63));
    }
  }
});

const Case rows("contiguous rows of every length up to a few cache lines", [] {
  const DType byte = type("uint8");
  for (std::int64_t count = 1; count <= 300; ++count)
    expect_move(byte, {5, count}, {count, 1}, {count + 3, 1});
});

// Rows of whole lines are streamed line by line, others of 2 KiB and more without their edges, and
// rows that src holds in another order are copied in that order.
const Case many_rows("many rows, in the order of dst and of src, at every offset in a line", [] {
  Random random(15);
  const DType byte = type("uint8");
  for (const std::int64_t count : {64, 65, 127, 128, 192, 200, 256, 2047, 2048, 2111, 8200}) {
    for (const std::int64_t shift : {0, 1, 31, 32, 63}) {
      const std::int64_t pitch = count + 64 * random.between(0, 1);
      expect_move(byte, {4, count}, {pitch, 1}, {count + 3, 1}, shift, shift);
      expect_move(byte, {2, 3, 40, count}, {40 * 3 * pitch, 40 * pitch, pitch, 1},
                  {40 * 3 * count, count, 3 * count, 1}, shift, 63 - shift);
      expect_move(byte, {5, 3, count}, {3 * pitch, pitch, 1}, {-count, 5 * count, 1}, shift, shift);
    }
  }
});

// The blocks end with the first and the last byte that is copied, so that sanitizers see a window
// that reaches beyond them.
const Case windows("short rows into contiguous memory, from rows at every small distance", [] {
  Random random(16);
  for (const char* text : {"int8", "float16", "float32", "float64", "int8x3"}) {
    const DType dtype = type(text);
    for (std::int64_t count = 1; count <= 12; ++count) {
      for (std::int64_t pitch = 1; pitch <= 20; ++pitch) {
        const std::int64_t step = random.between(-3, 3);
        const std::int64_t height = random.between(0, 1) == 0 ? random.between(1, 40) : 150;
        const std::int64_t shift = random.between(0, 1) == 0 ? 0 : random.between(0, 63);
        for (const std::int64_t sign : {1, -1}) {
          expect_move(dtype, {height, count}, {count, 1}, {sign * pitch, 1}, shift, 0);
          expect_move(dtype, {height, count}, {count, 1}, {sign * pitch, step}, shift, 0);
        }
      }
    }
  }
});

const Case far_words("words at distances beyond a cache line, from more than the L2 cache", [] {
  for (const char* text : {"int8", "float16", "float32", "float64", "complex128"}) {
    const DType dtype = type(text);
    const std::int64_t step = 80 / dtype.itemsize();
    for (const std::int64_t shift : {0, 1, 15, 33}) {
      expect_move(dtype, {30011 + shift}, {1}, {step}, shift, 0);
      expect_move(dtype, {3, 10007}, {10009, 1}, {-10007 * step, -step}, shift, 0);
    }
  }
});

const Case conversions("conversions give the same bits as the plain kernels", [] {
  Random random(12);
  const List shape = {37, 41};
  const std::vector<List> choices = {{41, 1}, {1, 37}, {82, 2}, {-41, -1}, {0, 1}};
  for (const ScalarInfo& from_row : kScalars) {
    for (const ScalarInfo& to_row : kScalars) {
      const DType from{from_row.kind, from_row.bits, 1, from_row.bits < 8};
      const DType to{to_row.kind, to_row.bits, 1, to_row.bits < 8};
      if (from_row.name == to_row.name || !can_convert(from, to)) continue;
      for (const List& strides : choices) {
        const Placement src = placed(from, shape, strides, 3);
        const List& dst_strides = choices[static_cast<std::size_t>(random.between(0, 3))];
        const Placement dst = placed(to, shape, dst_strides, 1);
        Bytes source = random_bytes(src.nbytes);
        const Bytes before = random_bytes(dst.nbytes);
        Bytes expected = before;
        kernels::use("plain");
        copy(dst.in(expected), src.in(source));
        for_each_table([&](const kernels::Table& table) {
          Bytes seen = before;
          copy(dst.in(seen), src.in(source));
          check(seen == expected, describe(dst, src) + " by " + table.name);
        });
      }
    }
  }
});

const Case large("large copies with non-temporal stores, in chunks, on one and on three threads",
                 [] {
                   const std::pair<List, List> shapes[] = {
                       {{17, 1000, 1100}, {0, 1, 2}},   {{17, 1000, 1100}, {0, 2, 1}},
                       {{2100, 9000}, {1, 0}},          {{130, 128, 1200}, {1, 0, 2}},
                       {{6000003, 3}, {1, 0}},          {{3, 6000003}, {1, 0}},
                       {{70, 65, 66, 67}, {3, 2, 1, 0}}};
                   const DType byte = type("uint8");
                   for (const auto& [shape, order] : shapes) {
                     const Placement src = placed(byte, shape, strides_of(shape, order, 1, 0), 0);
                     const Placement dst = row_major(byte, shape, 64);
                     Bytes source(static_cast<std::size_t>(src.nbytes));
                     for (std::size_t i = 0; i < source.size(); ++i)
                       source[i] = static_cast<std::byte>(i * 2654435761U >> 13);
                     Bytes expected(static_cast<std::size_t>(dst.nbytes));
                     const List from = src.addresses();
                     for (std::size_t i = 0; i < from.size(); ++i)
                       expected[64 + i] = source[static_cast<std::size_t>(from[i])];
                     for (const int threads : {1, 3}) {
                       set_copy_threads(threads);
                       for_each_table([&](const kernels::Table& table) {
                         Bytes seen(static_cast<std::size_t>(dst.nbytes));
                         copy(dst.in(seen), src.in(source));
                         check(seen == expected, describe(dst, src) + " by " + table.name);
                       });
                     }
                     set_copy_threads(1);
                   }
                 });

const Case interrupts("a long copy polls for interrupts and can be stopped", [] {
  const Placement place = row_major(type("uint8"), {8, 4 << 20}, 0);
  Bytes source(static_cast<std::size_t>(place.nbytes), std::byte{1});
  Bytes seen(static_cast<std::size_t>(place.nbytes));
  Stopper counting{1 << 30};
  check(copy(place.in(seen), place.in(source), counting.check()));
  check(counting.calls >= 3, std::to_string(counting.calls));
  check(seen == source);
  std::fill(seen.begin(), seen.end(), std::byte{0});
  check(!copy(place.in(seen), place.in(source), Stopper{0}.check()));
  const auto moved = std::count(seen.begin(), seen.end(), std::byte{1});
  check(moved > 0 && moved < place.nbytes, std::to_string(moved));
});

const Case on_pages("words on pages of their own are few between two polls", [] {
  const Placement sparse = placed(type("float64"), {8192}, {512}, 0),
                  dense = row_major(type("float64"), {8192}, 0);
  Bytes seen(static_cast<std::size_t>(sparse.nbytes)),
      source(static_cast<std::size_t>(dense.nbytes));
  check(!copy(sparse.in(seen), dense.in(source), Stopper{0}.check()));
  check(!copy(dense.in(source), sparse.in(seen), Stopper{0}.check()));
});

const Case names("kernel tables are selected by name", [] {
  const kernels::Choices all = kernels::choices();
  check(all.count >= 1);
  expect(std::string(all.tables[all.count - 1]->name), std::string("plain"));
  check(!kernels::use("unknown"));
  check(kernels::use("plain"));
  expect(std::string(kernels::table().name), std::string("plain"));
  check(kernels::use(all.tables[0]->name));
});

}  // namespace
