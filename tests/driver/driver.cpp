// Owns a driver library of either vendor that counts devices as the environment says: no device is
// behind it.
#include <cstdlib>

namespace {

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

int count(int* out) {
  *out = number("STUB_DEVICES");
  return number("STUB_COUNT_STATUS");
}

}  // namespace

extern "C" {
int cuInit(unsigned) { return number("STUB_INIT_STATUS"); }
int hipInit(unsigned) { return number("STUB_INIT_STATUS"); }
#ifndef STUB_WITHOUT_COUNT
int cuDeviceGetCount(int* out) { return count(out); }
int hipGetDeviceCount(int* out) { return count(out); }
#endif
}
