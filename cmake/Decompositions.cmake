# The decompositions of matrices: the sources of the core that include Eigen.

# Eigen's headers, and how everything that includes them is compiled.
add_library(refarray_eigen INTERFACE)
target_include_directories(refarray_eigen SYSTEM INTERFACE "${Eigen_INCLUDE_DIR}")
# EIGEN_NO_CPUID: blocks of a size that depends on the machine's caches would change the order of additions.
# EIGEN_STACK_ALLOCATION_LIMIT: bytes of a temporary on the stack, which may be one of 64 KiB; larger ones are in the heap.
target_compile_definitions(refarray_eigen INTERFACE EIGEN_MPL2_ONLY EIGEN_NO_DEBUG EIGEN_NO_CPUID
                           EIGEN_DONT_PARALLELIZE EIGEN_STACK_ALLOCATION_LIMIT=1024)
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
if(REFARRAY_SANITIZE)
  # Eigen's blocked LU refers to the first element of a part without columns, which it does not read.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/compute/linalg/decompositions/lu.cpp" PROPERTIES COMPILE_OPTIONS
                              -fno-sanitize=null)
endif()
