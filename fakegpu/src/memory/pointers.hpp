// Pointer attributes, and HIP's struct for them.
#pragma once

#include "machine/driver.hpp"

namespace fakegpu {

struct HipPointerAttributes {  // hipPointerAttribute_t; 32 bytes in every version
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned allocation_flags;
};
static_assert(sizeof(HipPointerAttributes) == 32);

int pointer_attribute(Call& call, void* data, int attribute, Handle pointer);
int pointer_attributes(Call& call, unsigned count, const int* attributes, void** data,
                       Handle pointer);
int hip_pointer_attributes(Call& call, HipPointerAttributes* out, const void* address);

}  // namespace fakegpu
