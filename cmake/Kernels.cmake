# The kernels of copies: one source, compiled once per instruction set.

# The level is selected at run time (src/core/kernels/dispatch.cpp). x86-64-v3 is AVX2 with FMA and BMI. The last level is
# x86-64-v4 plus VBMI, the byte shuffles of the generation after it; without them byte copies gain nothing over AVX2.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(kernel_levels plain sse4 avx2 avx512)
else()
  set(kernel_levels plain simd128)
endif()
set(kernel_flags_plain -DREFARRAY_PLAIN)
set(kernel_name_plain Plain)
set(kernel_flags_sse4 -march=x86-64-v2)
set(kernel_name_sse4 Sse4)
set(kernel_flags_avx2 -march=x86-64-v3)
set(kernel_name_avx2 Avx2)
set(kernel_flags_avx512 -march=x86-64-v4 -mavx512vbmi -mprefer-vector-width=512)
set(kernel_name_avx512 Avx512)
set(kernel_flags_simd128 "")
set(kernel_name_simd128 Simd128)

foreach(level IN LISTS kernel_levels)
  set(kernels refarray_kernels_${level})
  refarray_objects(core ${kernels} "${PROJECT_SOURCE_DIR}/src/core/kernels/level.cpp")
  # -Wno-psabi: vectors are passed only to inlined functions, so their calling convention does not matter.
  # -ffp-contract=off: conversions are bit-identical at every level.
  target_compile_options(${kernels} PRIVATE ${kernel_flags_${level}} -Wno-psabi -ffp-contract=off)
  target_compile_definitions(${kernels} PRIVATE REFARRAY_LEVEL=k${kernel_name_${level}} REFARRAY_LEVEL_NAME="${level}"
                             REFARRAY_TABLE=k${kernel_name_${level}}Table)
endforeach()
