// Owns the device kernels as drivers take them: compiled ahead, and lying in the extension module.
#pragma once

#include <cstddef>
#include <span>

namespace refarray::runtime::kernels {

/// PTX, ended by a zero byte, which is part of the span; empty where there are no drivers.
std::span<const std::byte> ptx_image() noexcept;

/// A bundle of AMD code objects; begins on a multiple of 4096.
std::span<const std::byte> amd_image() noexcept;

}  // namespace refarray::runtime::kernels
