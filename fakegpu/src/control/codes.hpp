// Result codes and flags with the same values in the CUDA driver API and the HIP API.
#pragma once

#include <cstdint>

namespace fakegpu {

enum Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kPeerAccessUnsupported = 217,
  kUnsupportedPtxVersion = 222,
  kJitDisabled = 223,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kContextIsDestroyed = 709,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
};

constexpr std::uint64_t kLegacyHandle = 1;
constexpr std::uint64_t kPerThreadHandle = 2;
constexpr unsigned kNonBlocking = 1;
constexpr unsigned kDisableTiming = 2;
constexpr unsigned kInterprocess = 4;

enum CaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum CaptureStatus : int { kNoCapture = 0, kActive = 1, kInvalidated = 2 };

enum class Vendor { kCuda, kHip };
using enum Vendor;

constexpr const char* vendor_name(Vendor vendor) {
  return vendor == Vendor::kCuda ? "cuda" : "hip";
}

}  // namespace fakegpu
