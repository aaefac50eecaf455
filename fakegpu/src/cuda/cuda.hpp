// Structs of the CUDA driver API, and what cuGetProcAddress knows of its functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/driver.hpp"

namespace fakegpu {

struct CudaMemPoolProps {
  int allocation_type;
  int handle_types;
  int location_type;
  int location_id;
  void* security;
  std::size_t max_bytes;
  unsigned char reserved[56];
};
static_assert(sizeof(CudaMemPoolProps) == 88);

using CudaMemAccessDesc = MemoryAccess;

struct CudaMemcpy2D {  // CUDA_MEMCPY2D_v2
  std::size_t from_x, from_y;
  int from_type;
  const void* from_host;
  Handle from_device;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  int to_type;
  void* to_host;
  Handle to_device;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};
static_assert(sizeof(CudaMemcpy2D) == 128);

struct Symbol {
  const char* name;
  int version;  // the first version in which the name means this function
  void* function;
  void* per_thread;  // the variant in which stream 0 is the per-thread default stream
};
using Symbols = std::vector<Symbol>;

/// The functions of each file for which the null stream can be the per-thread default stream.
Symbols context_symbols();
Symbols memory_symbols();
Symbols copy_symbols();
Symbols stream_symbols();

/// Every function of the driver API. The build writes it from functions.txt.
Symbols listed_symbols();

/// A call of a function, in the version in which it came or changed, that is not simulated. Aborts
/// if its arguments are of 32 bits, which a real driver would misread.
int not_simulated(const char* name, int version, const void* caller);

class NullIsPerThread {
 public:
  NullIsPerThread() : flag_(null_is_per_thread()), before_(flag_) { flag_ = true; }
  ~NullIsPerThread() { flag_ = before_; }
  NullIsPerThread(const NullIsPerThread&) = delete;
  NullIsPerThread& operator=(const NullIsPerThread&) = delete;

 private:
  bool& flag_;
  bool before_;
};

template <auto Function>
struct PerThread;

template <class... Arguments, int (*Function)(Arguments...)>
struct PerThread<Function> {
  static int call(Arguments... arguments) {
    const NullIsPerThread scope;
    return Function(arguments...);
  }
};

template <auto Function>
Symbol plain(const char* name, int version) {
  return {name, version, reinterpret_cast<void*>(Function), reinterpret_cast<void*>(Function)};
}

/// A function that takes a stream, or uses the null stream implicitly.
template <auto Function>
Symbol streamed(const char* name, int version) {
  return {name, version, reinterpret_cast<void*>(Function),
          reinterpret_cast<void*>(&PerThread<Function>::call)};
}

}  // namespace fakegpu
