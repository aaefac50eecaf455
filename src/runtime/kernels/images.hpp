// The compiled device kernels, embedded in the extension module.
#pragma once

#include <cstddef>
#include <span>

namespace refarray::runtime::kernels {

/// PTX, including its terminating zero byte; empty on platforms without drivers.
std::span<const std::byte> ptx_image() noexcept;

/// A bundle of AMD code objects, aligned to 4096 bytes; empty likewise.
std::span<const std::byte> amd_image() noexcept;

}  // namespace refarray::runtime::kernels
