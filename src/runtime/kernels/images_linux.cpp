// Embeds the compiled device kernels (made by tools/gpu/gpu_kernels.py, located by
// cmake/Images.cmake).
#include "runtime/kernels/images.hpp"

// Included by the assembler: as C arrays they would dominate the compile time.
asm(R"(
  .pushsection .rodata.refarray_images, "a"
  .hidden refarray_amd_image
  .hidden refarray_amd_image_end
  .hidden refarray_ptx_image
  .hidden refarray_ptx_image_end
  .globl refarray_amd_image
  .globl refarray_amd_image_end
  .globl refarray_ptx_image
  .globl refarray_ptx_image_end
  .balign 4096
refarray_amd_image:
  .incbin ")" REFARRAY_IMAGES R"(/refarray.hipfb"
refarray_amd_image_end:
refarray_ptx_image:
  .incbin ")" REFARRAY_IMAGES R"(/refarray.ptx"
  .byte 0
refarray_ptx_image_end:
  .popsection
)");

extern "C" {
[[gnu::visibility("hidden")]] extern const std::byte refarray_amd_image[];
[[gnu::visibility("hidden")]] extern const std::byte refarray_amd_image_end[];
[[gnu::visibility("hidden")]] extern const std::byte refarray_ptx_image[];
[[gnu::visibility("hidden")]] extern const std::byte refarray_ptx_image_end[];
}

namespace refarray::runtime::kernels {

std::span<const std::byte> ptx_image() noexcept {
  return {refarray_ptx_image, refarray_ptx_image_end};
}
std::span<const std::byte> amd_image() noexcept {
  return {refarray_amd_image, refarray_amd_image_end};
}

}  // namespace refarray::runtime::kernels
