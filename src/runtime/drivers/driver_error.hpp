// DriverError: a failed driver call, with the vendor's status.
#pragma once

#include <string>
#include <utility>

#include "core/error.hpp"

namespace refarray::runtime {

/// A driver call failed for any reason but out of memory, which is a core::Error of Fault::kMemory.
class DriverError : public core::Error {
 public:
  DriverError(int status, std::string name, std::string call, std::string message)
      : Error(core::Fault::kDriver, std::move(message)),
        status_(status),
        name_(std::move(name)),
        call_(std::move(call)) {}
  int status() const noexcept { return status_; }             // the vendor's status code
  const std::string& name() const noexcept { return name_; }  // "CUDA_ERROR_LAUNCH_FAILED"
  const std::string& call() const noexcept { return call_; }  // the operation, in plain English

 private:
  int status_;
  std::string name_;
  std::string call_;
};

}  // namespace refarray::runtime
