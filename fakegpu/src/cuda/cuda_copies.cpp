// CUDA driver API: copies and fills.
#include "cuda/cuda.hpp"

using namespace fakegpu;

namespace {

Side side(int memory_type) {
  return memory_type == 1 ? Side::kHost : memory_type == 2 ? Side::kDevice : Side::kAny;
}

int plain_copy(Call& at, const CudaMemcpy2D& copy, Handle stream, bool wait) {
  const bool arrays = copy.from_type == 3 || copy.to_type == 3;
  if (arrays) return kNotSupported;
  const Handle from = copy.from_type == 1 ? number(copy.from_host) : copy.from_device;
  const Handle to = copy.to_type == 1 ? number(copy.to_host) : copy.to_device;
  const std::size_t from_pitch = copy.from_pitch != 0 ? copy.from_pitch : copy.width;
  const std::size_t to_pitch = copy.to_pitch != 0 ? copy.to_pitch : copy.width;
  return copy_2d(at, {to + copy.to_y * to_pitch + copy.to_x, to_pitch}, side(copy.to_type),
                 {from + copy.from_y * from_pitch + copy.from_x, from_pitch}, side(copy.from_type),
                 copy.width, copy.height, stream, wait);
}

/// Both contexts must be those of the memory; the copy itself needs no peer access.
int peer_copy(Call& at, Handle to, Handle to_context, Handle from, Handle from_context,
              std::size_t bytes, Handle stream, bool wait) {
  const Context* there = at.machine.contexts.alive(to_context);
  const Context* here = at.machine.contexts.alive(from_context);
  if (there == nullptr || here == nullptr) return kInvalidContext;
  if (const int code = check_home(at, to, *there->device)) return code;
  if (const int code = check_home(at, from, *here->device)) return code;
  return copy(at, to, Side::kDevice, from, Side::kDevice, bytes, stream, wait);
}

}  // namespace

extern "C" {

int cuMemcpy(Handle to, Handle from, std::size_t bytes) {
  return call(kCuda, "cuMemcpy", kBlocks | kInContext, copy, to, Side::kAny, from, Side::kAny,
              bytes, 0, true);
}

int cuMemcpyAsync(Handle to, Handle from, std::size_t bytes, Handle stream) {
  return call(kCuda, "cuMemcpyAsync", kInContext, copy, to, Side::kAny, from, Side::kAny, bytes,
              stream, false);
}

int cuMemcpyHtoD_v2(Handle to, const void* from, std::size_t bytes) {
  return call(kCuda, "cuMemcpyHtoD", kBlocks | kInContext, copy, to, Side::kDevice, number(from),
              Side::kHost, bytes, 0, true);
}

int cuMemcpyDtoH_v2(void* to, Handle from, std::size_t bytes) {
  return call(kCuda, "cuMemcpyDtoH", kBlocks | kInContext, copy, number(to), Side::kHost, from,
              Side::kDevice, bytes, 0, true);
}

int cuMemcpyDtoD_v2(Handle to, Handle from, std::size_t bytes) {
  // host-to-device copies return before the data has arrived
  return call(kCuda, "cuMemcpyDtoD", kInContext, copy, to, Side::kDevice, from, Side::kDevice,
              bytes, 0, false);
}

int cuMemcpyHtoDAsync_v2(Handle to, const void* from, std::size_t bytes, Handle stream) {
  return call(kCuda, "cuMemcpyHtoDAsync", kInContext, copy, to, Side::kDevice, number(from),
              Side::kHost, bytes, stream, false);
}

int cuMemcpyDtoHAsync_v2(void* to, Handle from, std::size_t bytes, Handle stream) {
  return call(kCuda, "cuMemcpyDtoHAsync", kInContext, copy, number(to), Side::kHost, from,
              Side::kDevice, bytes, stream, false);
}

int cuMemcpyDtoDAsync_v2(Handle to, Handle from, std::size_t bytes, Handle stream) {
  return call(kCuda, "cuMemcpyDtoDAsync", kInContext, copy, to, Side::kDevice, from, Side::kDevice,
              bytes, stream, false);
}

int cuMemcpyPeer(Handle to, Handle to_context, Handle from, Handle from_context,
                 std::size_t bytes) {
  return call(kCuda, "cuMemcpyPeer", kBlocks | kInContext, peer_copy, to, to_context, from,
              from_context, bytes, 0, true);
}

int cuMemcpyPeerAsync(Handle to, Handle to_context, Handle from, Handle from_context,
                      std::size_t bytes, Handle stream) {
  return call(kCuda, "cuMemcpyPeerAsync", kInContext, peer_copy, to, to_context, from, from_context,
              bytes, stream, false);
}

int cuMemcpy2D_v2(const CudaMemcpy2D* copy) {
  return call(kCuda, "cuMemcpy2D", kBlocks | kInContext, plain_copy, *copy, 0, true);
}

int cuMemcpy2DUnaligned_v2(const CudaMemcpy2D* copy) {
  return call(kCuda, "cuMemcpy2DUnaligned", kBlocks | kInContext, plain_copy, *copy, 0, true);
}

int cuMemcpy2DAsync_v2(const CudaMemcpy2D* copy, Handle stream) {
  return call(kCuda, "cuMemcpy2DAsync", kInContext, plain_copy, *copy, stream, false);
}

int cuMemsetD8_v2(Handle pointer, unsigned char value, std::size_t count) {
  return call(kCuda, "cuMemsetD8", kInContext, fill, pointer, value, 1, count, 0, false);
}

int cuMemsetD8Async(Handle pointer, unsigned char value, std::size_t count, Handle stream) {
  return call(kCuda, "cuMemsetD8Async", kInContext, fill, pointer, value, 1, count, stream, false);
}

int cuMemsetD16Async(Handle pointer, unsigned short value, std::size_t count, Handle stream) {
  return call(kCuda, "cuMemsetD16Async", kInContext, fill, pointer, value, 2, count, stream, false);
}

int cuMemsetD32Async(Handle pointer, unsigned value, std::size_t count, Handle stream) {
  return call(kCuda, "cuMemsetD32Async", kInContext, fill, pointer, value, 4, count, stream, false);
}

}  // extern "C"

Symbols fakegpu::copy_symbols() {
  return {streamed<cuMemcpy>("cuMemcpy", 4000),
          streamed<cuMemcpyAsync>("cuMemcpyAsync", 4000),
          streamed<cuMemcpyHtoD_v2>("cuMemcpyHtoD", 3020),
          streamed<cuMemcpyDtoH_v2>("cuMemcpyDtoH", 3020),
          streamed<cuMemcpyDtoD_v2>("cuMemcpyDtoD", 3020),
          streamed<cuMemcpyHtoDAsync_v2>("cuMemcpyHtoDAsync", 3020),
          streamed<cuMemcpyDtoHAsync_v2>("cuMemcpyDtoHAsync", 3020),
          streamed<cuMemcpyDtoDAsync_v2>("cuMemcpyDtoDAsync", 3020),
          streamed<cuMemcpyPeer>("cuMemcpyPeer", 4000),
          streamed<cuMemcpyPeerAsync>("cuMemcpyPeerAsync", 4000),
          streamed<cuMemcpy2D_v2>("cuMemcpy2D", 3020),
          streamed<cuMemcpy2DUnaligned_v2>("cuMemcpy2DUnaligned", 3020),
          streamed<cuMemcpy2DAsync_v2>("cuMemcpy2DAsync", 3020),
          streamed<cuMemsetD8_v2>("cuMemsetD8", 3020),
          streamed<cuMemsetD8Async>("cuMemsetD8Async", 3020),
          streamed<cuMemsetD16Async>("cuMemsetD16Async", 3020),
          streamed<cuMemsetD32Async>("cuMemsetD32Async", 3020)};
}
