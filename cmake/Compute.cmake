# Of the layer that computes: its kernels, compiled once per instruction set, and the decompositions, which include Eigen.

# src/compute/kernels_in_use.cpp says which of these levels goes with which of kernel_levels. Most kernels have two: below
# AVX2 the compiler vectorizes for the baseline, and AVX-512 gains less than its code takes.
set(operation_levels plain)
set(operation_flags_plain "")
# g++ 12 vectorizes complex products with fused multiply-adds in spite of -ffp-contract=off.
set(operation_flags_avx2 ${kernel_flags_avx2} -mno-fma)
# What computes has no use for the byte shuffles that copies at this level need.
set(compute_flags_avx2 ${kernel_flags_avx2})
set(compute_flags_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
# Matrix products have a level wherever fused multiply-adds become faster.
set(product_levels plain)
if("avx2" IN_LIST kernel_levels)
  list(APPEND operation_levels avx2)
  list(APPEND product_levels avx2 avx512)
endif()

file(GLOB_RECURSE operation_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/compute/kernels/*.cpp")
list(FILTER operation_sources EXCLUDE REGEX "/products/")
foreach(level IN LISTS operation_levels)
  set(kernels refarray_operations_${level})
  refarray_objects(compute ${kernels} ${operation_sources})
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
  refarray_objects(compute ${kernels} "${PROJECT_SOURCE_DIR}/src/compute/kernels/products/products.cpp")
  # -ffp-contract=off: only the multiply-adds that the source names are fused. REFARRAY_PLAIN is for copies.
  target_compile_options(${kernels} PRIVATE ${compute_flags_${level}})
  target_compile_options(${kernels} PRIVATE -Wno-psabi -ffp-contract=off)
  target_compile_definitions(${kernels} PRIVATE REFARRAY_PRODUCTS=products_${level})
endforeach()

# Mathematics has the levels of products, for the same reason.
file(GLOB math_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/compute/math/levels/*.cpp")
foreach(level IN LISTS product_levels)
  set(kernels refarray_math_${level})
  refarray_objects(compute ${kernels} ${math_sources})
  target_compile_options(${kernels} PRIVATE ${compute_flags_${level}})
  # -fno-math-errno, -fno-trapping-math: as for the operations.
  target_compile_options(${kernels} PRIVATE -Wno-psabi -ffp-contract=off -fno-math-errno -fno-trapping-math)
  target_compile_definitions(${kernels} PRIVATE REFARRAY_MATH=math_${level})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Two vectors a step are computed one after the other unless g++ mixes their instructions.
    set_source_files_properties(${math_sources} PROPERTIES COMPILE_OPTIONS -fschedule-insns)
  endif()
endforeach()

# Eigen's headers, and how everything that includes them is compiled.
add_library(refarray_eigen INTERFACE)
target_include_directories(refarray_eigen SYSTEM INTERFACE "${Eigen_INCLUDE_DIR}")
# EIGEN_NO_CPUID: blocks of a size that depends on the machine's caches would change the order of additions.
# EIGEN_STACK_ALLOCATION_LIMIT: bytes of a temporary on the stack, which may be one of 64 KiB; larger ones are in the heap.
# Clang's products on ARM keep 12 x 12 doubles, which is the smallest limit that Eigen takes there.
target_compile_definitions(refarray_eigen INTERFACE EIGEN_MPL2_ONLY EIGEN_NO_DEBUG EIGEN_NO_CPUID
                           EIGEN_DONT_PARALLELIZE EIGEN_STACK_ALLOCATION_LIMIT=1152)
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  target_compile_definitions(refarray_eigen INTERFACE "EIGEN_DEFAULT_DENSE_INDEX_TYPE=long long")  # as extents are
endif()
# -ffp-contract=off: as for the kernels. -fno-math-errno: square roots become single instructions.
target_compile_options(refarray_eigen INTERFACE -ffp-contract=off -fno-math-errno)
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-fcx-fortran-rules refarray_has_fortran_rules)
if(refarray_has_fortran_rules)
  # Complex products skip the recovery of infinities from NaN, which calls a function; quotients still avoid overflow.
  target_compile_options(refarray_eigen INTERFACE -fcx-fortran-rules)
endif()

file(GLOB_RECURSE decomposition_sources CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/src/compute/linalg/decompositions/*.cpp")
refarray_objects(compute refarray_decompositions ${decomposition_sources})
target_link_libraries(refarray_decompositions PRIVATE refarray_eigen)
refarray_precompile(refarray_decompositions compute/linalg/decompositions/parts/eigen.hpp)
