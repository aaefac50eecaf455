# The kernels of copies and of computations: one source, compiled once per instruction set.

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

# Computations are compiled for two levels only, which the others share: below AVX2 the compiler vectorizes for the baseline,
# and AVX-512 gains less than its code takes.
set(operation_levels plain)
foreach(level IN LISTS kernel_levels)
  set(kernel_operations_${level} plain)
endforeach()
if("avx2" IN_LIST kernel_levels)
  list(APPEND operation_levels avx2)
  set(kernel_operations_avx2 avx2)
  set(kernel_operations_avx512 avx2)
endif()
set(operation_flags_plain "")
# g++ 12 vectorizes complex products with fused multiply-adds in spite of -ffp-contract=off.
set(operation_flags_avx2 ${kernel_flags_avx2} -mno-fma)

# Matrix products have a level wherever fused multiply-adds become faster.
set(product_levels plain)
foreach(level IN LISTS kernel_levels)
  set(kernel_products_${level} plain)
endforeach()
foreach(level avx2 avx512)
  if("${level}" IN_LIST kernel_levels)
    list(APPEND product_levels ${level})
    set(kernel_products_${level} ${level})
  endif()
endforeach()

foreach(level IN LISTS kernel_levels)
  set(kernels refarray_kernels_${level})
  refarray_objects(core ${kernels} "${PROJECT_SOURCE_DIR}/src/core/kernels/level.cpp")
  # -Wno-psabi: vectors are passed only to inlined functions, so their calling convention does not matter.
  # -ffp-contract=off: conversions are bit-identical at every level.
  target_compile_options(${kernels} PRIVATE ${kernel_flags_${level}} -Wno-psabi -ffp-contract=off)
  target_compile_definitions(${kernels} PRIVATE REFARRAY_LEVEL="${level}" REFARRAY_TABLE=${kernel_table_${level}}
                             REFARRAY_OPERATIONS=operations_${kernel_operations_${level}}
                             REFARRAY_PRODUCTS=products_${kernel_products_${level}})
endforeach()

file(GLOB_RECURSE operation_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/compute/kernels/*.cpp")
list(FILTER operation_sources EXCLUDE REGEX "/products/")
foreach(level IN LISTS operation_levels)
  set(kernels refarray_operations_${level})
  refarray_objects(core ${kernels} ${operation_sources})
  # -ffp-contract=off: results are bit-identical at every level. -fno-math-errno, -fno-trapping-math: sqrt, floor and
  # comparisons become single instructions; nobody reads errno or the floating-point exception flags.
  target_compile_options(${kernels} PRIVATE ${operation_flags_${level}} -ffp-contract=off -fno-math-errno -fno-trapping-math)
  target_compile_definitions(${kernels} PRIVATE REFARRAY_OPERATIONS=operations_${level})
  # A Fourier transform of up to 61 elements, the largest prime of a pass, has as many pairs of vectors, twice.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/compute/kernels/transforms/fourier.cpp" PROPERTIES
                              COMPILE_OPTIONS -Wno-frame-larger-than)
endforeach()

foreach(level IN LISTS product_levels)
  set(kernels refarray_products_${level})
  refarray_objects(core ${kernels} "${PROJECT_SOURCE_DIR}/src/compute/kernels/products/products.cpp")
  # -ffp-contract=off: only the multiply-adds that the source names are fused. REFARRAY_PLAIN is for copies.
  if(NOT level STREQUAL "plain")
    target_compile_options(${kernels} PRIVATE ${kernel_flags_${level}})
  endif()
  target_compile_options(${kernels} PRIVATE -Wno-psabi -ffp-contract=off)
  target_compile_definitions(${kernels} PRIVATE REFARRAY_PRODUCTS=products_${level})
endforeach()
