// Error, the exception of the core, runtime and dlpack layers: a Fault and a message that names the
// value and the limit.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace refarray::core {

/// The category of an error. The extension translates each to one Python exception type.
enum class Fault {
  kType,      // TypeError
  kValue,     // ValueError
  kIndex,     // IndexError
  kAxis,      // AxisError, an IndexError and a ValueError: an axis that the array lacks
  kLinAlg,    // LinAlgError, a ValueError: a matrix for which the result does not exist
  kOverflow,  // OverflowError
  kBuffer,    // BufferError: data that cannot be exchanged as requested
  kNoCopy,    // BufferError and ValueError at once: copy=False is impossible (policy A-01)
  kMemory,    // MemoryError
  kDriver,    // DriverError, a RuntimeError: a GPU driver's call failed
  kLedger,    // LedgerError, a RuntimeError: a ledger of this thread forbids it
};

class Error : public std::exception {
 public:
  Error(Fault fault, std::string message) : fault_(fault), message_(std::move(message)) {}
  Fault fault() const noexcept { return fault_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Fault fault_;
  std::string message_;
};

namespace detail {
inline void append(std::string& out, std::string_view text) { out += text; }
template <class T>
  requires std::is_integral_v<T> && (!std::is_same_v<T, bool>)
void append(std::string& out, T value) {
  out += std::to_string(value);
}
}  // namespace detail

/// Joins text and integers into one message: `text("ndim is ", ndim, "; the limit is ", 64)`.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// Throws Error(fault, text(parts...)).
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(Fault fault, const Parts&... parts) {
  throw Error(fault, text(parts...));
}

}  // namespace refarray::core
