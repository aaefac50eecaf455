# Finds dlpack/dlpack.h as FindHeaders.cmake says: find_package(DLPack 1.3 MODULE REQUIRED)

include("${CMAKE_CURRENT_LIST_DIR}/FindHeaders.cmake")
set(REFARRAY_DLPACK_URL
    "https://raw.githubusercontent.com/dmlc/dlpack/v1.3/include/dlpack/dlpack.h"
    CACHE STRING "Where dlpack.h is downloaded from when it is not found")
# dlpack.h of the upstream tag v1.3, commit 84d107bf416c6bab9ae68ad285876600d230490d.
set(REFARRAY_DLPACK_SHA256
    "62052bef24bd69bb7b52e95428f9e99bd7951783850c36c5f2a41e71fd63c2fc"
    CACHE STRING "SHA-256 of the downloaded dlpack.h")
mark_as_advanced(REFARRAY_DLPACK_URL REFARRAY_DLPACK_SHA256)

# Sets `result` to "major.minor" as the header defines it, or to "" when it defines neither (before 0.7). From the macros:
# every released CMake config of DLPack reports 0.6.
function(dlpack_version folder result)
  set(version "")
  file(STRINGS "${folder}/dlpack/dlpack.h" lines REGEX "^#define DLPACK_(MAJOR_|MINOR_)?VERSION ")
  if("${lines}" MATCHES "DLPACK_MAJOR_VERSION ([0-9]+)")
    set(version "${CMAKE_MATCH_1}")
    if("${lines}" MATCHES "DLPACK_MINOR_VERSION ([0-9]+)")
      string(APPEND version ".${CMAKE_MATCH_1}")
    endif()
  elseif("${lines}" MATCHES "DLPACK_VERSION ([0-9]+)")
    set(version "0.${CMAKE_MATCH_1}")  # 0.x wrote DLPACK_VERSION 60 for 0.6
    string(REGEX REPLACE "^0\\.([0-9]+)0$" "0.\\1" version "${version}")
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

refarray_find_headers(DLPack dlpack/dlpack.h
  TARGET DLPack::DLPack
  REFUSED "dlpack/dlpack.h is too old"
  REQUIREMENT_SUFFIX tvm_ffi/include
  NEEDED "dlpack.h ${DLPack_FIND_VERSION} or newer"
  PACKAGES "conda-forge or vcpkg `dlpack`, or libdlpack-dev >= 1.3 (Debian 12 has 0.6, Debian 13 has 1.0)"
  REQUIREMENT "apache-tvm-ffi>=0.1.12")
