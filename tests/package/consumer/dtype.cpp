// Includes refarray/core/dtype.hpp alone and uses every function that it declares.
#include <refarray/core/dtype.hpp>

bool use_dtype() {
  using namespace refarray::core;
  DType dtype;
  set_dtype(dtype, static_cast<std::uint8_t>(Kind::kFloat4_e2m1fn), 4, 3, false);
  const bool sizes = dtype.stored_bits() == 12 && dtype.itemsize() == 2 && dtype.is_packed() &&
                     dtype.is_sub_byte() && !dtype.is_complex();
  return sizes && dtype.index() == scalar_index(17, 4) && name(dtype) == "float4_e2m1fnx3" &&
         dtype_from_name("float4_e2m1fnx3") == dtype && !dtype_from_name("float5");
}
