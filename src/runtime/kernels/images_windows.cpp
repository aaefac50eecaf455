// Embeds the compiled device kernels, as images_linux.cpp does: an object of Windows has other
// sections, and no symbol leaves a module unless it is exported by name.
#include "runtime/kernels/images.hpp"

asm(R"(
  .section .rdata$refarray_images, "dr"
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
  .text
)");

extern "C" {
extern const std::byte refarray_amd_image[];
extern const std::byte refarray_amd_image_end[];
extern const std::byte refarray_ptx_image[];
extern const std::byte refarray_ptx_image_end[];
}

namespace refarray::runtime::kernels {

std::span<const std::byte> ptx_image() noexcept {
  return {refarray_ptx_image, refarray_ptx_image_end};
}
std::span<const std::byte> amd_image() noexcept {
  return {refarray_amd_image, refarray_amd_image_end};
}

}  // namespace refarray::runtime::kernels
