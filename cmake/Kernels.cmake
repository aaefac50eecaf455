# The copy kernels: one source, compiled once per instruction set.

# The level is selected at run time (src/core/kernels/dispatch.cpp). x86-64-v3 is AVX2 with FMA and BMI. The last level is
# x86-64-v4 plus VBMI, the byte shuffles of the generation after it; without them byte copies gain nothing over AVX2.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(kernel_levels plain sse4 avx2 avx512)
else()
  set(kernel_levels plain simd128)
endif()
set(kernel_flags_plain -DREFARRAY_PLAIN)
set(kernel_table_plain kPlainTable)
set(kernel_flags_sse4 -march=x86-64-v2)
set(kernel_table_sse4 kSse4Table)
set(kernel_flags_avx2 -march=x86-64-v3)
set(kernel_table_avx2 kAvx2Table)
set(kernel_flags_avx512 -march=x86-64-v4 -mavx512vbmi -mprefer-vector-width=512)
set(kernel_table_avx512 kAvx512Table)
set(kernel_flags_simd128 "")
set(kernel_table_simd128 kSimd128Table)

foreach(level IN LISTS kernel_levels)
  set(kernels refarray_kernels_${level})
  add_library(${kernels} OBJECT "${PROJECT_SOURCE_DIR}/src/core/kernels/level.cpp")
  target_include_directories(${kernels} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  refarray_compile(${kernels})
  # -Wno-psabi: vectors are passed only to inlined functions, so their calling convention does not matter.
  # -ffp-contract=off: conversions are bit-identical at every level.
  target_compile_options(${kernels} PRIVATE ${kernel_flags_${level}} -Wno-psabi -ffp-contract=off)
  target_compile_definitions(${kernels} PRIVATE REFARRAY_LEVEL="${level}" REFARRAY_TABLE=${kernel_table_${level}})
  # No link-time optimisation: it could merge functions of different instruction sets.
  set_target_properties(${kernels} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  target_sources(refarray_core PRIVATE $<TARGET_OBJECTS:${kernels}>)
endforeach()
