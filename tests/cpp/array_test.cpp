// Tests of core/array.hpp, core/overlap.hpp and core/ledger.hpp.
#include "core/array.hpp"

#include <limits>
#include <memory>
#include <set>
#include <thread>

#include "check.hpp"
#include "core/ledger.hpp"
#include "core/overlap.hpp"
#include "naive.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr DType kInt16{Kind::kInt, 16, 1, false};
constexpr DType kInt32{Kind::kInt, 32, 1, false};
constexpr DType kFour{Kind::kFloat4_e2m1fn, 4, 1, false};
constexpr DType kSix{Kind::kFloat6_e2m3fn, 6, 1, false};
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// The bit address of an element.
std::int64_t bit_of(const Array& array, const std::byte* origin, std::int64_t element) {
  return (array.data - origin) * 8 + array.bit + element * array.dtype.stored_bits();
}

const Case fresh("a new array is row-major, aligned and writable", [] {
  const Array array = new_array(kInt32, List{2, 3, 4}, true);
  check(!array.readonly && array.bit == 0 && array.dtype == kInt32 &&
        array.data == array.storage->data());
  check(is_c_contiguous(array.layout.extents(), array.layout.stride_span()) &&
        array.layout.ndim == 3);
  const ArrayView view = array;
  expect(view.size(), 24);
  expect(view.nbytes(), 96);
  check(view.device() == Device{} && view.storage == array.storage.get() &&
        view.data == array.data);
  for (int i = 0; i < 96; ++i) check(array.data[i] == std::byte{0});
  check(ArrayView{}.device() == Device{} && ArrayView{}.size() == 1);
});

const Case fresh_edges("empty, one-element and packed new arrays", [] {
  expect(new_array(kInt32, {}, false).view().size(), 1);
  expect(new_array(kInt32, List{0, 5}, false).view().nbytes(), 0);
  check(new_array(kInt32, List{0, 5}, false).data != nullptr);
  for (const std::int64_t size : {0, 1, 2, 3, 4, 5, 7, 8}) {
    const Array six = new_array(kSix, List{size}, false);
    expect(six.view().nbytes(), (size * 6 + 7) / 8);
    if (size % 4 != 0)
      check(six.data[six.view().nbytes() - 1] == std::byte{0}, "bits past the end are 0");
  }
});

const Case refused("invalid shapes and sizes are rejected", [] {
  fails(Fault::kValue, "axis 1 is -1", [] { new_array(kInt32, List{1, -1}, true); });
  fails(Fault::kValue, "ndim is 65", [] { new_array(kInt32, List(65, 1), true); });
  fails(Fault::kOverflow, "limit", [] { new_array(kInt32, List{kMost, 2}, true); });
  fails(Fault::kOverflow, "int32", [] { new_array(kInt32, List{kMost}, true); });
  fails(Fault::kMemory, "bytes", [] { new_array(kInt32, List{kMost / 32}, true); });
});

const Case views("with_layout() computes the address of the first element and shares the storage",
                 [] {
                   Array whole = new_array(kInt16, List{4, 5}, true);
                   const std::byte* origin = whole.data;
                   Storage* storage = whole.storage.get();
                   const Array row = with_layout(whole, Layout(List{5}, List{1}), 10);
                   expect(row.data - origin, 20);
                   const Array flipped = with_layout(row, Layout(List{5}, List{-1}), 4);
                   expect(flipped.data - origin, 28);
                   const Array back = with_layout(flipped, Layout(List{4, 5}, List{5, 1}), -14);
                   check(back.data == origin && back.storage.get() == storage);
                   check(!storage->is_last_reference());
                   whole = Array{};
                   check(back.storage->data() == origin);  // only the views reference it
                 });

const Case views_of_nothing("an empty view keeps its address at any offset", [] {
  const Array whole = new_array(kInt16, List{4}, true);
  const Array none = with_layout(whole, Layout(List{0}, List{1}), kMost);
  check(none.data == whole.data);
  const Array nowhere{{}, nullptr, kInt16, 0, false, c_layout(List{0})};
  const Array still = with_layout(nowhere, Layout(List{0, 3}, List{3, 1}), 5);
  check(still.data == nullptr && still.storage.get() == nullptr);
  check(with_layout(nowhere, Layout(List{0}, List{1}), -1).data == nullptr);
});

const Case readonly("views of read-only arrays and storages are read-only", [] {
  Array whole = new_array(kInt16, List{4}, true);
  check(!with_layout(whole, whole.layout, 0).readonly);
  whole.readonly = true;
  const Array view = with_layout(whole, whole.layout, 0);
  check(view.readonly && with_layout(view, whole.layout, 0).readonly);
  check(view.storage->writable());  // only the array is read-only
  std::byte bytes[8]{};
  Storage fixed(bytes, Device{}, false, true, [](Storage*) noexcept {});
  const ArrayView unmarked{
      &fixed, bytes, kInt16, 0, false, whole.layout.ndim, whole.layout.shape, whole.layout.strides};
  check(with_layout(unmarked, whole.layout, 0).readonly);
  check(!unmarked.writable() && !view.view().writable());  // due to its storage; due to the array
  check(new_array(kInt16, List{4}, true).view().writable() && ArrayView{}.writable());
});

const Case packed_views("packed elements have bit addresses", [] {
  for (const DType& dtype : {kFour, kSix, DType{Kind::kFloat4_e2m1fn, 4, 3, false},
                             DType{Kind::kFloat6_e3m2fn, 6, 7, false}}) {
    const Array whole = new_array(dtype, List{50}, true);
    for (std::int64_t first = 0; first < 50; ++first) {
      const Array one = with_layout(whole, Layout(List{1}, List{1}), first);
      expect(bit_of(one, whole.data, 0), first * dtype.stored_bits(), name(dtype));
      check(one.bit < 8 && one.data >= whole.data);
      for (std::int64_t second = 0; second < 50;
           second += 7) {  // relative to that view, in both directions
        const Array other = with_layout(one, Layout(List{1}, List{1}), second - first);
        expect(bit_of(other, whole.data, 0), second * dtype.stored_bits(), name(dtype));
        check(other.bit < 8);
      }
    }
  }
});

const Case padded_views("padded and whole-byte elements are byte-aligned", [] {
  for (const DType& dtype : {DType{Kind::kFloat4_e2m1fn, 4, 1, true},
                             DType{Kind::kFloat6_e2m3fn, 6, 4, false}, kInt32}) {
    const Array whole = new_array(dtype, List{9}, true);
    for (std::int64_t first = 0; first < 9; ++first) {
      const Array one = with_layout(whole, Layout(List{1}, List{1}), first);
      check(one.bit == 0 && one.data - whole.data == first * dtype.itemsize(), name(dtype));
    }
  }
});

const Case overlap_edges("may_overlap() of adjacent, empty and overflowing ranges", [] {
  const Array whole = new_array(kFour, List{4}, true);
  const Array first = with_layout(whole, Layout(List{1}, List{1}), 0);
  const Array second = with_layout(whole, Layout(List{1}, List{1}), 1);
  const Array third = with_layout(whole, Layout(List{1}, List{1}), 2);
  check(may_overlap(first, second));  // share a byte, but no bit
  check(!may_overlap(second, third));
  check(!may_overlap(whole, new_array(kFour, List{4}, true)));
  check(!may_overlap(with_layout(whole, Layout(List{0}, List{1}), 0), whole));
  const Array inside = with_layout(second, Layout(List{0}, List{1}), 0);
  check(inside.bit == 4 && !may_overlap(inside, whole) && !may_overlap(whole, inside));
  const Array endless{whole.storage, whole.data, kFour, 0, false, Layout(List{kMost}, List{kMost})};
  check(may_overlap(endless, third));  // its range overflows, hence true
});

/// The bits of all elements, relative to `origin`.
std::set<std::int64_t> bits_of(const Array& array, const std::byte* origin) {
  std::set<std::int64_t> out;
  for (const std::int64_t element : addresses(array.layout))
    for (int bit = 0; bit < array.dtype.stored_bits(); ++bit)
      out.insert(bit_of(array, origin, element) + bit);
  return out;
}

const Case shared_model("share_memory() is exact", [] {
  Random random(7);
  int sharing = 0, apart = 0, between = 0;
  for (int round = 0; round < 6000; ++round) {
    const DType& dtype = round % 3 == 0 ? kInt16 : round % 3 == 1 ? kInt32 : kSix;
    const Array whole = new_array(dtype, List{600}, false);
    const auto view = [&] {
      const Layout layout = random_view(random, static_cast<std::size_t>(random.between(0, 3)));
      return with_layout(whole, layout, random.between(240, 270));
    };
    const Array a = view(), b = view();
    const std::set<std::int64_t> bits = bits_of(a, whole.data);
    bool meet = false;
    for (const std::int64_t bit : bits_of(b, whole.data)) meet |= bits.contains(bit);
    expect(share_memory(a, b), meet, show(a.layout.extents(), a.layout.stride_span()));
    expect(share_memory(b, a), meet, show(b.layout.extents(), b.layout.stride_span()));
    (meet ? sharing : apart) += 1;
    between += !meet && may_overlap(a, b) ? 1 : 0;
  }
  check(sharing > 500 && apart > 500 && between > 100,
        text(sharing, " sharing, ", apart, " apart, ", between, " between each other"));
});

const Case shared_views("share_memory() of columns, rows, other dtypes and large arrays", [] {
  const Array whole = new_array(kInt32, List{1000, 1000}, false);
  const auto column = [&](std::int64_t at) {
    return with_layout(whole, Layout(List{1000}, List{1000}), at);
  };
  check(!share_memory(column(3), column(4)) && share_memory(column(3), column(3)));
  check(share_memory(column(3), whole));
  const auto even = with_layout(whole, Layout(List{1000, 500}, List{1000, 2}), 0);
  const auto odd = with_layout(whole, Layout(List{1000, 500}, List{1000, 2}), 1);
  check(!share_memory(even, odd) && share_memory(even, column(2)));
  Array halves = with_dtype(whole, kInt16);
  halves.layout = Layout(List{1000}, List{2000});
  ++halves.data;  // the second byte of each number in column 0, and the third
  check(share_memory(halves, column(0)) && !share_memory(halves, column(1)));
  const auto empty = with_layout(whole, Layout(List{0}, List{1}), 0);
  check(!share_memory(empty, whole) && !share_memory(whole, empty));
  const auto reversed = with_layout(whole, Layout(List{1000}, List{-1000}), 999 * 1000);
  check(share_memory(reversed, column(0)) && !share_memory(reversed, column(1)));
  const auto spread = with_layout(whole, Layout(List{7, 1000}, List{0, 0}), 5);
  check(share_memory(spread, column(5)) && !share_memory(spread, column(6)));
});

const Case ledgers("a ledger counts what its thread does, and forbids", [] {
  const auto counting = std::make_shared<Ledger>(EntrySet{0});
  const auto strict = std::make_shared<Ledger>(bit_of(Entry::kCopy));
  check(!is_any_ledger_open());
  check(Ledger::open(counting) && !Ledger::open(counting) && Ledger::open(strict));
  new_array(kInt32, List{5}, true);
  note(Entry::kTransfer, 7);
  fails(Fault::kLedger, "a copy of 9 bytes", [] { note(Entry::kCopy, 9); });
  fails(Fault::kLedger, "a copy, which", [] { note_attempt(Entry::kCopy, -1); });
  std::thread([] { note(Entry::kCopy, 9); }).join();
  check(strict->close() && !strict->close() && is_any_ledger_open());
  note(Entry::kCopy, 9);
  note_attempt(Entry::kCopy, 9);
  expect(counting->number(Entry::kAllocation), 1);
  expect(counting->bytes(Entry::kAllocation), 20);
  expect(counting->bytes(Entry::kTransfer), 7);
  expect(counting->number(Entry::kCopy), 1);
  expect(strict->number(Entry::kCopy), 0);
  expect(strict->refused(Entry::kCopy), 2);
  expect(strict->bytes(Entry::kAllocation), 20);
  check(counting->close() && !is_any_ledger_open());
  std::thread([&] { Ledger::open(counting); }).join();  // the end of the thread closes it
  check(!counting->is_open() && !is_any_ledger_open());
});

}  // namespace
