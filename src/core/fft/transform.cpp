// Implements Fourier transforms along an axis: tiles of sequences, loaded, transformed and stored.
#include "core/fft/transform.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>

#include "core/fft/kernels.hpp"
#include "core/fft/plan_cache.hpp"

namespace refarray::core {
namespace {

constexpr std::int64_t kThreadingThreshold = std::int64_t{4} << 20;  // bytes

/// Where the sequences of an array are. Steps are in bytes.
struct Sequences {
  std::byte* data;
  std::int64_t step;   // along the axis
  std::int64_t pitch;  // along the inner axis
  std::int64_t outer[kMaxRank];
  std::int64_t extent;
  bool is_complex;
};

/// The real or imaginary parts of a tile of sequences, or every second real number.
struct Parts {
  std::byte* data;
  std::int64_t step;
  std::int64_t count;
};

/// Planes for a tile. Taken by one thread at a time.
template <class T>
struct Workspace {
  std::atomic<bool> is_taken{false};
  kernels::Planes<T> data;
  kernels::Planes<T> spare;
};

template <class T>
class Transform {
 public:
  /// Throws kMemory.
  Transform(const ArrayView& out, const ArrayView& x, int axis, std::int64_t n, Direction direction,
            double scale)
      : tables_(fourier_tables<T>(n, !out.dtype.is_complex() || !x.dtype.is_complex())),
        n_(n),
        // Real sequences go forward and Hermitian ones backward. The other direction gives the
        // conjugates, or takes them.
        is_backward_(x.dtype.is_complex() &&
                     (!out.dtype.is_complex() || direction == Direction::kBackward)),
        conjugates_(is_backward_ != (direction == Direction::kBackward)),
        scale_(static_cast<T>(scale)),
        capacity_(std::max(tables_->plan.work_size(), n / 2 + 1)) {
    choose_inner_axis(out, axis);
    place(out_, out, axis);
    place(in_, x, axis);
    // Neighbours along the inner axis share cache lines. Contiguous sequences are faster one by one.
    const bool is_contiguous = in_.step == x.dtype.itemsize();
    tile_ = is_contiguous ? 1 : kTile;
    if (inner_ < kTile) tile_ = 1;
  }

  bool run(const InterruptCheck& interrupt) {
    const std::int64_t tiles = inner_ / tile_, singles = inner_ % tile_;
    std::int64_t outer = 1;
    for (int i = 0; i < outer_ndim_; ++i) outer *= outer_shape_[i];
    const std::int64_t count = outer * (tiles + singles);
    const std::int64_t nbytes = outer * inner_ * n_ * static_cast<std::int64_t>(sizeof(T));
    threads_ = nbytes >= kThreadingThreshold
                   ? static_cast<int>(std::min<std::int64_t>(copy_threads(), count))
                   : 1;
    allocate();
    // Only the calling thread may ask for interrupts.
    const InterruptCheck inside = threads_ == 1 ? interrupt : InterruptCheck{};
    std::atomic<bool> is_whole{true};
    const bool is_done = share_work(count, threads_, interrupt, [&](std::int64_t index) {
      if (!is_whole) return;
      const std::int64_t within = index % (tiles + singles);
      const bool is_tile = within < tiles;
      const std::int64_t first = is_tile ? within * tile_ : tiles * tile_ + within - tiles;
      Workspace<T>& work = take();
      if (!transform_tile(work, index / (tiles + singles), first, is_tile ? tile_ : 1, inside))
        is_whole = false;
      work.is_taken.store(false, std::memory_order_release);
    });
    return is_done && is_whole;
  }

 private:
  static constexpr std::int64_t kTile = 64 / static_cast<std::int64_t>(sizeof(T));
  static constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));

  /// Sequences next to each other along the inner axis are a tile. It is the axis with the smallest
  /// stride of `out`, the last one but for `axis`.
  void choose_inner_axis(const ArrayView& out, int axis) noexcept {
    inner_axis_ = -1;
    for (int i = 0; i < out.ndim; ++i)
      if (i != axis) inner_axis_ = i;
    inner_ = inner_axis_ < 0 ? 1 : out.shape[inner_axis_];
    for (int i = 0; i < out.ndim; ++i)
      if (i != axis && i != inner_axis_) outer_shape_[outer_ndim_++] = out.shape[i];
  }

  void place(Sequences& to, const ArrayView& array, int axis) const noexcept {
    const std::int64_t size = array.dtype.itemsize();
    to.data = array.data;
    to.step = array.strides[axis] * size;
    to.pitch = inner_axis_ < 0 ? 0 : array.strides[inner_axis_] * size;
    to.extent = array.shape[axis];
    to.is_complex = array.dtype.is_complex();
    int at = 0;
    for (int i = 0; i < array.ndim; ++i)
      if (i != axis && i != inner_axis_) to.outer[at++] = array.strides[i] * size;
  }

  void allocate() {
    const std::int64_t plane = capacity_ * tile_;
    const std::int64_t nbytes[] = {threads_ * (4 * plane * kSize + 64)};
    memory_ = new_array({Kind::kUInt, 8}, nbytes, /*zeroed=*/false);
    workspaces_ = std::make_unique<Workspace<T>[]>(static_cast<std::size_t>(threads_));
    auto* at = reinterpret_cast<T*>(memory_.data);
    for (int i = 0; i < threads_; ++i, at += 4 * plane) {
      workspaces_[i].data = {at, at + plane};
      workspaces_[i].spare = {at + 2 * plane, at + 3 * plane};
    }
  }

  /// There are as many workspaces as threads.
  Workspace<T>& take() const noexcept {
    for (int i = 0;; i = (i + 1) % threads_)
      if (!workspaces_[i].is_taken.exchange(true, std::memory_order_acquire)) return workspaces_[i];
  }

  std::byte* first_of(const Sequences& of, std::int64_t outer, std::int64_t inner) const noexcept {
    std::byte* out = of.data + inner * of.pitch;
    for (int i = outer_ndim_ - 1; i >= 0; --i) {
      out += outer % outer_shape_[i] * of.outer[i];
      outer /= outer_shape_[i];
    }
    return out;
  }

  bool transform_tile(Workspace<T>& work, std::int64_t outer, std::int64_t inner,
                      std::int64_t width, const InterruptCheck& interrupt) const noexcept {
    kernels::Planes<T> data = work.data, spare = work.spare;
    std::byte* const from = first_of(in_, outer, inner);
    std::byte* const to = first_of(out_, outer, inner);
    if (!in_.is_complex) return forward_real(data, spare, from, to, width, interrupt);
    if (!out_.is_complex) return backward_real(data, spare, from, to, width, interrupt);
    load_complex(data, from, n_, width);
    if (!run_plan(data, spare, width, interrupt)) return false;
    store_complex(to, data, n_, width);
    return true;
  }

  /// A backward transform is a forward one with the planes exchanged before and after.
  bool run_plan(kernels::Planes<T>& data, kernels::Planes<T>& spare, std::int64_t width,
                const InterruptCheck& interrupt) const noexcept {
    if (!is_backward_) return tables_->plan.run(data, spare, width, interrupt);
    data = data.swapped();
    spare = spare.swapped();
    const bool is_done = tables_->plan.run(data, spare, width, interrupt);
    data = data.swapped();
    spare = spare.swapped();
    return is_done;
  }

  bool forward_real(kernels::Planes<T> data, kernels::Planes<T> spare, std::byte* from,
                    std::byte* to, std::int64_t width,
                    const InterruptCheck& interrupt) const noexcept {
    const std::int64_t count = std::min(in_.extent, n_), half = n_ / 2;
    if (!tables_->is_halved) {
      load(data.real, {from, in_.step, count}, n_, width);
      std::fill_n(data.imag, n_ * width, T{0});
    } else {
      load(data.real, {from, 2 * in_.step, (count + 1) / 2}, half, width);
      load(data.imag, {from + in_.step, 2 * in_.step, count / 2}, half, width);
    }
    if (!run_plan(data, spare, width, interrupt)) return false;
    if (tables_->is_halved) {
      fourier_kernels<T>().split({data, spare, tables_->roots.at(0), half, width});
      std::swap(data, spare);
    }
    if (conjugates_) fourier_kernels<T>().scale(data.imag, (half + 1) * width, T{-1});
    store_complex(to, data, half + 1, width);
    return true;
  }

  bool backward_real(kernels::Planes<T> data, kernels::Planes<T> spare, std::byte* from,
                     std::byte* to, std::int64_t width,
                     const InterruptCheck& interrupt) const noexcept {
    const std::int64_t half = n_ / 2;
    load_complex(data, from, half + 1, width);
    if (conjugates_) fourier_kernels<T>().scale(data.imag, (half + 1) * width, T{-1});
    std::fill_n(data.imag, width, T{0});  // of a real number
    if (tables_->is_halved) {
      std::fill_n(data.imag + half * width, width, T{0});
      fourier_kernels<T>().join({data, spare, tables_->roots.at(0), half, width});
      std::swap(data, spare);
    } else {
      extend(data, width);
    }
    if (!run_plan(data, spare, width, interrupt)) return false;
    if (tables_->is_halved) {
      store({to, 2 * out_.step, half}, data.real, width);
      store({to + out_.step, 2 * out_.step, half}, data.imag, width);
    } else {
      store({to, out_.step, n_}, data.real, width);
    }
    return true;
  }

  /// The second half of a Hermitian sequence.
  void extend(const kernels::Planes<T>& data, std::int64_t width) const noexcept {
    for (std::int64_t k = n_ / 2 + 1; k < n_; ++k) {
      for (std::int64_t b = 0; b < width; ++b) {
        data.real[k * width + b] = data.real[(n_ - k) * width + b];
        data.imag[k * width + b] = -data.imag[(n_ - k) * width + b];
      }
    }
  }

  void load_complex(const kernels::Planes<T>& data, std::byte* from, std::int64_t n,
                    std::int64_t width) const noexcept {
    const std::int64_t count = std::min(in_.extent, n);
    if (width == 1 && in_.step == 2 * kSize) {
      kernels::table().deinterleave[kWord]({reinterpret_cast<std::byte*>(data.real), from, count,
                                            (data.imag - data.real) * kSize, 2, false});
      for (T* const plane : {data.real, data.imag}) std::fill(plane + count, plane + n, T{0});
      return;
    }
    load(data.real, {from, in_.step, count}, n, width);
    load(data.imag, {from + kSize, in_.step, count}, n, width);
  }

  void store_complex(std::byte* to, const kernels::Planes<T>& data, std::int64_t n,
                     std::int64_t width) const noexcept {
    if (width == 1 && out_.step == 2 * kSize) {
      scale_planes(data.real, n);
      scale_planes(data.imag, n);
      kernels::table().interleave[kWord]({to, reinterpret_cast<const std::byte*>(data.real), n,
                                          (data.imag - data.real) * kSize, 2, false});
      return;
    }
    store({to, out_.step, n}, data.real, width);
    store({to + kSize, out_.step, n}, data.imag, width);
  }

  void scale_planes(T* plane, std::int64_t count) const noexcept {
    if (scale_ != T{1}) fourier_kernels<T>().scale(plane, count, scale_);
  }

  /// Elements that `from` lacks become zeros.
  void load(T* plane, const Parts& from, std::int64_t n, std::int64_t width) const noexcept {
    kernels::table().strided[kWord]({reinterpret_cast<std::byte*>(plane), from.data, width, kSize,
                                     in_.pitch, from.count, width * kSize, from.step, false});
    std::fill(plane + from.count * width, plane + n * width, T{0});
  }

  void store(const Parts& to, T* plane, std::int64_t width) const noexcept {
    scale_planes(plane, to.count * width);
    kernels::table().strided[kWord]({to.data, reinterpret_cast<const std::byte*>(plane), width,
                                     out_.pitch, kSize, to.count, to.step, width * kSize, false});
  }

  static constexpr int kWord = std::countr_zero(sizeof(T));

  std::shared_ptr<const FourierTables<T>> tables_;
  std::int64_t n_;
  bool is_backward_;
  bool conjugates_;
  T scale_;
  std::int64_t capacity_;  // elements of a plane for one sequence
  int inner_axis_ = -1;
  std::int64_t inner_ = 1;
  int outer_ndim_ = 0;
  std::int64_t outer_shape_[kMaxRank];
  Sequences out_;
  Sequences in_;
  std::int64_t tile_ = 1;
  int threads_ = 1;
  Array memory_;
  std::unique_ptr<Workspace<T>[]> workspaces_;
};

}  // namespace

bool transform(const ArrayView& out, const ArrayView& x, int axis, std::int64_t n,
               Direction direction, double scale, const InterruptCheck& interrupt) {
  if (out.size() == 0) return true;
  const int bits = x.dtype.is_complex() ? x.dtype.bits / 2 : x.dtype.bits;
  if (bits == 32) return Transform<float>(out, x, axis, n, direction, scale).run(interrupt);
  return Transform<double>(out, x, axis, n, direction, scale).run(interrupt);
}

}  // namespace refarray::core
