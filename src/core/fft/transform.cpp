// Implements Fourier transforms along an axis: tiles of sequences, loaded, transformed and stored.
#include "core/fft/transform.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "core/fft/kernels.hpp"
#include "core/fft/plan_cache.hpp"
#include "core/fft/tile_copies.hpp"

namespace refarray::core {
namespace {

constexpr std::int64_t kThreadingThreshold = std::int64_t{4} << 20;  // bytes
/// Contiguous sequences of up to so many elements gain more by tiles than copying them takes.
constexpr std::int64_t kTiledLength = 128;

/// An array as sequences along one axis. Steps are in bytes.
struct Operand {
  std::byte* data;
  std::int64_t step;   // along the axis
  std::int64_t pitch;  // along the inner axis
  std::int64_t outer[kMaxRank];
  std::int64_t extent;  // of the axis
  bool is_complex;
};

/// The sequences of all operands: those next to each other along the inner axis can be a tile.
class Axes {
 public:
  Axes(const ArrayView& out, int axis) noexcept : axis_(axis) {
    for (int i = 0; i < out.ndim; ++i)
      if (i != axis) inner_axis_ = i;
    for (int i = 0; i < out.ndim; ++i)
      if (i != axis && i != inner_axis_) shape_[ndim_++] = out.shape[i];
    if (inner_axis_ >= 0) inner_ = out.shape[inner_axis_];
  }

  std::int64_t inner() const noexcept { return inner_; }
  std::int64_t outer() const noexcept { return size_of({shape_, static_cast<std::size_t>(ndim_)}); }

  Operand operand(const ArrayView& array) const noexcept {
    const std::int64_t size = array.dtype.itemsize();
    // Strides of axes of extent 1 may be any numbers; as steps they could overflow.
    const auto step = [&](int i) { return array.shape[i] == 1 ? 0 : array.strides[i] * size; };
    Operand out;
    out.data = array.data;
    out.step = step(axis_);
    out.pitch = inner_axis_ < 0 ? 0 : step(inner_axis_);
    out.extent = array.shape[axis_];
    out.is_complex = array.dtype.is_complex();
    int at = 0;
    for (int i = 0; i < array.ndim; ++i)
      if (i != axis_ && i != inner_axis_) out.outer[at++] = step(i);
    return out;
  }

  /// The sequence at these indices.
  Sequences at(const Operand& of, std::int64_t outer, std::int64_t inner) const noexcept {
    std::byte* data = of.data + inner * of.pitch;
    for (int i = ndim_ - 1; i >= 0; --i) {
      data += outer % shape_[i] * of.outer[i];
      outer /= shape_[i];
    }
    return {data, of.step, of.pitch};
  }

 private:
  int axis_;
  int inner_axis_ = -1;  // the last one but for axis_
  std::int64_t inner_ = 1;
  int ndim_ = 0;
  std::int64_t shape_[kMaxRank];  // of the other axes
};

/// Memory for a tile in each thread.
template <class T>
class Workspaces {
 public:
  /// `plane`: elements. Throws kMemory.
  Workspaces(int threads, std::int64_t plane)
      : threads_(threads), is_taken_(new std::atomic<bool>[static_cast<std::size_t>(threads)]()) {
    plane_ = (plane + kLine - 1) / kLine * kLine;
    const std::int64_t size = std::int64_t{threads} * 4 * plane_;
    const std::int64_t shape[] = {size};
    memory_ = new_array({Kind::kFloat, sizeof(T) * 8}, shape, /*zeroed=*/false);
  }

  /// Calls `work` with memory that no other thread has.
  template <class Work>
  void use(const Work& work) const noexcept {
    int i = 0;
    while (is_taken_[i].exchange(true, std::memory_order_acquire)) i = (i + 1) % threads_;
    auto* const at = reinterpret_cast<T*>(memory_.data) + i * 4 * plane_;
    work(Buffers<T>{{at, at + plane_}, {at + 2 * plane_, at + 3 * plane_}});
    is_taken_[i].store(false, std::memory_order_release);
  }

 private:
  static constexpr std::int64_t kLine = 64 / sizeof(T);

  int threads_;
  std::unique_ptr<std::atomic<bool>[]> is_taken_;
  std::int64_t plane_;
  Array memory_;
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
        axes_(out, axis),
        out_(axes_.operand(out)),
        in_(axes_.operand(x)) {
    const bool is_contiguous = in_.step == x.dtype.itemsize();
    tile_ = axes_.inner() < kTile || (is_contiguous && n > kTiledLength) ? 1 : kTile;
  }

  bool run(const InterruptCheck& interrupt) const {
    const std::int64_t tiles = axes_.inner() / tile_;
    const std::int64_t row = tiles + axes_.inner() % tile_;  // tiles and single sequences
    const std::int64_t count = axes_.outer() * row;
    const bool shares = axes_.outer() * axes_.inner() * n_ * kSize >= kThreadingThreshold;
    const int threads =
        shares ? static_cast<int>(std::min<std::int64_t>(copy_threads(), count)) : 1;
    const std::int64_t capacity = std::max(tables_->plan.work_size(), n_ / 2 + 1);
    const Workspaces<T> workspaces(threads, capacity * tile_);
    // Only the calling thread may ask for interrupts.
    const InterruptCheck inside = threads == 1 ? interrupt : InterruptCheck{};
    std::atomic<bool> is_whole{true};
    const bool is_done = share_work(count, threads, interrupt, [&](std::int64_t index) {
      if (!is_whole) return;
      const std::int64_t within = index % row, outer = index / row;
      const std::int64_t first = within < tiles ? within * tile_ : within + tiles * (tile_ - 1);
      workspaces.use([&](Buffers<T> buffers) {
        const Sequences to = axes_.at(out_, outer, first), from = axes_.at(in_, outer, first);
        if (!transform(buffers, to, from, within < tiles ? tile_ : 1, inside)) is_whole = false;
      });
    });
    return is_done && is_whole;
  }

 private:
  static constexpr std::int64_t kSize = sizeof(T);
  static constexpr std::int64_t kTile = 64 / kSize;  // sequences

  bool transform(Buffers<T>& buffers, const Sequences& to, const Sequences& from,
                 std::int64_t width, const InterruptCheck& interrupt) const noexcept {
    if (!in_.is_complex) return forward_real(buffers, to, from, width, interrupt);
    if (!out_.is_complex) return backward_real(buffers, to, from, width, interrupt);
    load_complex(buffers, from, n_, width);
    if (!run_plan(buffers, width, interrupt)) return false;
    store_complex(to, buffers, n_, width);
    return true;
  }

  /// A backward transform is a forward one with the planes exchanged before and after.
  bool run_plan(Buffers<T>& buffers, std::int64_t width,
                const InterruptCheck& interrupt) const noexcept {
    if (!is_backward_) return tables_->plan.run(buffers.data, buffers.spare, width, interrupt);
    kernels::Planes<T> data = buffers.data.swapped(), spare = buffers.spare.swapped();
    const bool is_done = tables_->plan.run(data, spare, width, interrupt);
    buffers = {data.swapped(), spare.swapped()};
    return is_done;
  }

  bool forward_real(Buffers<T>& buffers, const Sequences& to, const Sequences& from,
                    std::int64_t width, const InterruptCheck& interrupt) const noexcept {
    const std::int64_t half = n_ / 2;
    if (tables_->is_halved) {
      load_halves(buffers, from, width);
    } else {
      const std::int64_t count = std::min(in_.extent, n_);
      load_plane(buffers.data.real, from, count, width);
      clear(buffers.data.real, count, n_, width);
      clear(buffers.data.imag, 0, n_, width);
    }
    if (!run_plan(buffers, width, interrupt)) return false;
    if (tables_->is_halved) {
      fourier_kernels<T>().split({buffers.data, buffers.spare, tables_->roots.at(0), half, width});
      std::swap(buffers.data, buffers.spare);
    }
    if (conjugates_) negate(buffers.data.imag, (half + 1) * width);
    clear(buffers.data.imag, 0, 1, width);  // a sum of real numbers
    store_complex(to, buffers, half + 1, width);
    return true;
  }

  bool backward_real(Buffers<T>& buffers, const Sequences& to, const Sequences& from,
                     std::int64_t width, const InterruptCheck& interrupt) const noexcept {
    const std::int64_t half = n_ / 2;
    load_complex(buffers, from, half + 1, width);
    if (conjugates_) negate(buffers.data.imag, (half + 1) * width);
    clear(buffers.data.imag, 0, 1, width);  // of a real number
    if (tables_->is_halved) {
      clear(buffers.data.imag, half, half + 1, width);
      fourier_kernels<T>().join({buffers.data, buffers.spare, tables_->roots.at(0), half, width});
      std::swap(buffers.data, buffers.spare);
    } else {
      extend(buffers.data, width);
    }
    if (!run_plan(buffers, width, interrupt)) return false;
    const std::int64_t count = tables_->is_halved ? half : n_;
    scale(buffers.data.real, count * width);
    if (!tables_->is_halved) {
      store_plane(to, buffers.data.real, n_, width);
      return true;
    }
    scale(buffers.data.imag, count * width);
    store_pairs({to.data, 2 * to.step, to.pitch}, to.step, buffers, half, width);
    return true;
  }

  /// The real numbers with even and with odd indices.
  void load_halves(const Buffers<T>& to, const Sequences& from, std::int64_t width) const noexcept {
    const std::int64_t count = std::min(in_.extent, n_), pairs = count / 2;
    load_pairs(to, {from.data, 2 * from.step, from.pitch}, from.step, pairs, width);
    if (count % 2 != 0) {
      load_plane(to.data.real + pairs * width,
                 {from.data + 2 * pairs * from.step, from.step, from.pitch}, 1, width);
    }
    clear(to.data.real, pairs + count % 2, n_ / 2, width);
    clear(to.data.imag, pairs, n_ / 2, width);
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

  void load_complex(const Buffers<T>& to, const Sequences& from, std::int64_t n,
                    std::int64_t width) const noexcept {
    const std::int64_t count = std::min(in_.extent, n);
    load_pairs(to, from, kSize, count, width);
    clear(to.data.real, count, n, width);
    clear(to.data.imag, count, n, width);
  }

  void store_complex(const Sequences& to, const Buffers<T>& from, std::int64_t n,
                     std::int64_t width) const noexcept {
    scale(from.data.real, n * width);
    scale(from.data.imag, n * width);
    store_pairs(to, kSize, from, n, width);
  }

  void scale(T* plane, std::int64_t count) const noexcept {
    if (scale_ != T{1}) fourier_kernels<T>().scale(plane, count, scale_);
  }
  static void negate(T* plane, std::int64_t count) noexcept {
    fourier_kernels<T>().scale(plane, count, T{-1});
  }
  /// Elements [begin, end) of each sequence.
  static void clear(T* plane, std::int64_t begin, std::int64_t end, std::int64_t width) noexcept {
    if (begin < end) std::fill(plane + begin * width, plane + end * width, T{0});
  }

  std::shared_ptr<const FourierTables<T>> tables_;
  std::int64_t n_;
  bool is_backward_;
  bool conjugates_;
  T scale_;
  Axes axes_;
  Operand out_;
  Operand in_;
  std::int64_t tile_;  // sequences
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
