# Stops, with one sentence, where the sources cannot be compiled: minutes of compiling would come before the first error.
set(here "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} for ${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR}")

if(REFARRAY_PYTHON AND NOT CMAKE_SIZEOF_VOID_P EQUAL 8 AND NOT REFARRAY_ANY_SYSTEM)
  math(EXPR bits "8 * ${CMAKE_SIZEOF_VOID_P}")
  message(FATAL_ERROR "refarray's extension needs a 64-bit target; pointers have ${bits} bits here (${here}). "
                      "-DREFARRAY_PYTHON=OFF builds the C++ libraries, and -DREFARRAY_ANY_SYSTEM=ON tries the extension.")
endif()

try_compile(REFARRAY_COMPILER_IS_SUPPORTED SOURCES "${PROJECT_SOURCE_DIR}/cmake/supported.cpp"
            CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
if(NOT REFARRAY_COMPILER_IS_SUPPORTED)
  message(FATAL_ERROR "refarray needs C++20 with the vector extensions of GCC and Clang: GCC 12 or Clang 15, or newer; the "
                      "compiler is ${here}.")
endif()

if(WIN32 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "g++ does not align the stack for AVX on Windows (its bug 54412), and refarray's kernels would crash: "
                      "use Clang, for instance of llvm-mingw or zig (${here}).")
endif()

if(REFARRAY_PYTHON AND NOT CMAKE_SYSTEM_NAME MATCHES "^(Linux|Darwin|Windows)$" AND NOT REFARRAY_ANY_SYSTEM)
  message(FATAL_ERROR "refarray's extension is for Linux, macOS and Windows; ${CMAKE_SYSTEM_NAME} has none yet (${here}). -DREFARRAY_PYTHON=OFF builds "
                      "the C++ libraries, and -DREFARRAY_ANY_SYSTEM=ON tries the extension.")
endif()
