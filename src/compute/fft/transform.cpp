// Implements Fourier transforms along an axis: tiles of sequences, loaded, transformed and stored.
#include "compute/fft/transform.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "compute/fft/fourier_plan.hpp"
#include "compute/fft/tile_copies.hpp"

namespace refarray::core {
namespace {

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
  /// Throws kMemory, Interrupted.
  Transform(const ArrayView& out, const ArrayView& x, int axis, std::int64_t n, Direction direction,
            double scale, const InterruptCheck& interrupt)
      : tables_(fourier_tables<T>(n, !out.dtype.is_complex() || !x.dtype.is_complex(), interrupt)),
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
    if (axes_.inner() < kTile || (is_contiguous && n > kTiledLength)) return;
    const std::int64_t tiles = std::min(axes_.inner() / kTile, kShort / n);
    tile_ = kTile * std::max<std::int64_t>(tiles, 1);
  }

  bool run(const InterruptCheck& interrupt) const {
    const std::int64_t tiles = axes_.inner() / tile_, rest = axes_.inner() % tile_;
    const std::int64_t last = rest / kTile * kTile;  // sequences of a smaller tile
    const std::int64_t row = tiles + (last > 0 ? 1 : 0) + rest - last;
    const std::int64_t count = axes_.outer() * row;
    const int wanted = threads_for(axes_.outer() * axes_.inner() * n_ * kSize);
    const int threads = static_cast<int>(std::clamp<std::int64_t>(count, 1, wanted));
    const std::int64_t capacity = std::max(tables_->plan.work_size(), n_ / 2 + 1);
    const Workspaces<T> workspaces(threads, capacity * tile_);
    const auto piece = [&](std::int64_t index, const InterruptCheck& check) {
      const std::int64_t within = index % row, outer = index / row;
      const bool is_single = within >= row - (rest - last);
      const std::int64_t first = is_single ? axes_.inner() - (row - within) : within * tile_;
      const std::int64_t width = is_single ? 1 : within < tiles ? tile_ : last;
      workspaces.use([&](Buffers<T> buffers) {
        const Sequences to = axes_.at(out_, outer, first), from = axes_.at(in_, outer, first);
        try {  // boundary: an interrupt is no failure, and the shared work knows of it
          transform({buffers, width, check}, to, from);
        } catch (const Interrupted&) {
        }
      });
    };
    return share_fallible_work(count, threads, interrupt, piece);
  }

 private:
  using Planes = kernels::Planes<T>;
  static constexpr std::int64_t kSize = sizeof(T);
  static constexpr std::int64_t kTile = 64 / kSize;  // sequences
  /// Sequences of up to half as many elements share a tile of several times kTile.
  static constexpr std::int64_t kShort = 64;

  /// A tile that is transformed: `width` sequences.
  struct Tile {
    Buffers<T> buffers;
    std::int64_t width;
    const InterruptCheck& interrupt;

    /// Calls body(part, begin, count) for pieces of the elements [0, count) of the sequences.
    template <class Body>
    void in_pieces(std::int64_t count, const Body& body) const {
      core::in_pieces(count, width, interrupt, [&](std::int64_t begin, std::int64_t end) {
        const Planes& all = buffers.data;
        body(Buffers<T>{{all.real + begin * width, all.imag + begin * width}, buffers.spare}, begin,
             end - begin);
      });
    }

    void swap() noexcept { std::swap(buffers.data, buffers.spare); }
  };

  static Sequences from_element(const Sequences& of, std::int64_t k) noexcept {
    return {of.data + k * of.step, of.step, of.pitch};
  }

  void transform(Tile tile, const Sequences& to, const Sequences& from) const {
    if (!in_.is_complex) return forward_real(tile, to, from);
    if (!out_.is_complex) return backward_real(tile, to, from);
    if (tile.width > 1 && are_rows()) return transform_rows(tile.width, to, from);
    load_complex(tile, from, n_);
    run_plan(tile);
    store_complex(to, tile, n_);
  }

  /// Whether the sequences of complex numbers are contiguous, and so short that they need no tile.
  bool are_rows() const noexcept {
    return kernels::is_row_length(n_) && in_.extent >= n_ && in_.step == 2 * kSize &&
           out_.step == 2 * kSize;
  }
  void transform_rows(std::int64_t count, const Sequences& to, const Sequences& from) const {
    fourier_kernels<T>().rows({to.data, from.data, to.pitch, from.pitch, n_, count,
                               tables_->plan.first_twiddles(), is_backward_, scale_});
  }

  /// A backward transform is a forward one with the planes exchanged before and after.
  void run_plan(Tile& tile) const {
    auto& [data, spare] = tile.buffers;
    if (!is_backward_) return tables_->plan.run(data, spare, tile.width, tile.interrupt);
    Planes swapped = data.swapped(), swapped_spare = spare.swapped();
    tables_->plan.run(swapped, swapped_spare, tile.width, tile.interrupt);
    tile.buffers = {swapped.swapped(), swapped_spare.swapped()};
  }

  void forward_real(Tile& tile, const Sequences& to, const Sequences& from) const {
    const std::int64_t half = n_ / 2;
    if (tables_->is_halved) {
      load_halves(tile, from);
    } else {
      const std::int64_t count = std::min(in_.extent, n_);
      tile.in_pieces(count, [&](const Buffers<T>& part, std::int64_t begin, std::int64_t size) {
        load_plane(part.data.real, from_element(from, begin), size, tile.width);
      });
      clear(tile, &Planes::real, count, n_);
      clear(tile, &Planes::imag, 0, n_);
    }
    run_plan(tile);
    if (tables_->is_halved) {
      convert(tile, fourier_kernels<T>().split);
    }
    if (conjugates_) scale(tile, &Planes::imag, half + 1, T{-1});
    clear(tile, &Planes::imag, 0, 1);  // a sum of real numbers
    store_complex(to, tile, half + 1);
  }

  void backward_real(Tile& tile, const Sequences& to, const Sequences& from) const {
    const std::int64_t half = n_ / 2;
    load_complex(tile, from, half + 1);
    if (conjugates_) scale(tile, &Planes::imag, half + 1, T{-1});
    clear(tile, &Planes::imag, 0, 1);  // of a real number
    if (tables_->is_halved) {
      clear(tile, &Planes::imag, half, half + 1);
      convert(tile, fourier_kernels<T>().join);
    } else {
      extend(tile);
    }
    run_plan(tile);
    if (!tables_->is_halved) {
      scale(tile, &Planes::real, n_, scale_);
      tile.in_pieces(n_, [&](const Buffers<T>& part, std::int64_t begin, std::int64_t size) {
        store_plane(from_element(to, begin), part.data.real, size, tile.width);
      });
      return;
    }
    scale(tile, &Planes::real, half, scale_);
    scale(tile, &Planes::imag, half, scale_);
    const Sequences pairs{to.data, 2 * to.step, to.pitch};
    tile.in_pieces(half, [&](const Buffers<T>& part, std::int64_t begin, std::int64_t size) {
      store_pairs(from_element(pairs, begin), to.step, part, size, tile.width);
    });
  }

  /// From, or to, the transform of half as many complex numbers.
  void convert(Tile& tile, void (*kernel)(const kernels::RealPass<T>&) noexcept) const {
    const auto& [data, spare] = tile.buffers;
    const kernels::RealPass<T> whole{data, spare, tables_->roots.at(0), n_ / 2, tile.width, 0, 0};
    core::in_pieces(n_ / 4 + 1, 2 * tile.width, tile.interrupt,
                    [&](std::int64_t begin, std::int64_t end) {
                      kernels::RealPass<T> part = whole;
                      part.first = begin;
                      part.last = end;
                      kernel(part);
                    });
    tile.swap();
  }

  /// The real numbers with even and with odd indices.
  void load_halves(const Tile& tile, const Sequences& from) const {
    const std::int64_t count = std::min(in_.extent, n_), pairs = count / 2;
    const Sequences all{from.data, 2 * from.step, from.pitch};
    tile.in_pieces(pairs, [&](const Buffers<T>& part, std::int64_t begin, std::int64_t size) {
      load_pairs(part, from_element(all, begin), from.step, size, tile.width);
    });
    if (count % 2 != 0) {
      load_plane(tile.buffers.data.real + pairs * tile.width, from_element(all, pairs), 1,
                 tile.width);
    }
    clear(tile, &Planes::real, pairs + count % 2, n_ / 2);
    clear(tile, &Planes::imag, pairs, n_ / 2);
  }

  /// The second half of a Hermitian sequence.
  void extend(const Tile& tile) const {
    const Planes data = tile.buffers.data;
    const std::int64_t first = n_ / 2 + 1, width = tile.width;
    core::in_pieces(n_ - first, width, tile.interrupt, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = first + begin; k < first + end; ++k) {
        for (std::int64_t b = 0; b < width; ++b) {
          data.real[k * width + b] = data.real[(n_ - k) * width + b];
          data.imag[k * width + b] = -data.imag[(n_ - k) * width + b];
        }
      }
    });
  }

  void load_complex(const Tile& tile, const Sequences& from, std::int64_t n) const {
    const std::int64_t count = std::min(in_.extent, n);
    tile.in_pieces(count, [&](const Buffers<T>& part, std::int64_t begin, std::int64_t size) {
      load_pairs(part, from_element(from, begin), kSize, size, tile.width);
    });
    clear(tile, &Planes::real, count, n);
    clear(tile, &Planes::imag, count, n);
  }

  void store_complex(const Sequences& to, const Tile& tile, std::int64_t n) const {
    scale(tile, &Planes::real, n, scale_);
    scale(tile, &Planes::imag, n, scale_);
    tile.in_pieces(n, [&](const Buffers<T>& part, std::int64_t begin, std::int64_t size) {
      store_pairs(from_element(to, begin), kSize, part, size, tile.width);
    });
  }

  /// The first `count` elements of each sequence.
  static void scale(const Tile& tile, T* Planes::* plane, std::int64_t count, T factor) {
    if (factor == T{1}) return;
    tile.in_pieces(count, [&](const Buffers<T>& part, std::int64_t, std::int64_t size) {
      fourier_kernels<T>().scale(part.data.*plane, size * tile.width, factor);
    });
  }
  /// Elements [begin, end) of each sequence.
  static void clear(const Tile& tile, T* Planes::* plane, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    T* const first = tile.buffers.data.*plane + begin * tile.width;
    core::in_pieces(end - begin, tile.width, tile.interrupt, [&](std::int64_t at, std::int64_t to) {
      std::fill(first + at * tile.width, first + to * tile.width, T{0});
    });
  }

  std::shared_ptr<const FourierTables<T>> tables_;
  std::int64_t n_;
  bool is_backward_;
  bool conjugates_;
  T scale_;
  Axes axes_;
  Operand out_;
  Operand in_;
  std::int64_t tile_ = 1;  // sequences
};

}  // namespace

bool transform(const ArrayView& out, const ArrayView& x, int axis, std::int64_t n,
               Direction direction, double scale, const InterruptCheck& interrupt) {
  if (out.size() == 0) return true;
  const int bits = x.dtype.is_complex() ? x.dtype.bits / 2 : x.dtype.bits;
  const auto run = [&]<class T>(T) {
    return Transform<T>(out, x, axis, n, direction, scale, interrupt).run(interrupt);
  };
  try {  // boundary: work that was interrupted returns false
    return bits == 32 ? run(0.0F) : run(0.0);
  } catch (const Interrupted&) {
    return false;
  }
}

}  // namespace refarray::core
