# Finds the header-only library Eigen as FindHeaders.cmake says: find_package(Eigen 3.4 MODULE REQUIRED)
#
# Versions of the next major number are refused: src/compute/linalg calls functions of Eigen that are not in its manual.

include("${CMAKE_CURRENT_LIST_DIR}/FindHeaders.cmake")
set(REFARRAY_EIGEN_URL
    "https://gitlab.com/libeigen/eigen/-/archive/3.4.1/eigen-3.4.1.tar.gz"
    CACHE STRING "Where the release archive of Eigen is downloaded from when it is not found")
set(REFARRAY_EIGEN_SHA256
    "b93c667d1b69265cdb4d9f30ec21f8facbbe8b307cf34c0b9942834c6d4fdbe2"
    CACHE STRING "SHA-256 of the downloaded archive")
mark_as_advanced(REFARRAY_EIGEN_URL REFARRAY_EIGEN_SHA256)

# Sets `result` to "3.4.1" as the headers in `folder` define it, or to "".
function(eigen_version folder result)
  set(version "")
  set(header "${folder}/Eigen/src/Core/util/Macros.h")
  if(NOT EXISTS "${header}")
    set(header "${folder}/Eigen/Version")  # Eigen 5
  endif()
  if(EXISTS "${header}")
    file(STRINGS "${header}" lines REGEX "^#define EIGEN_(WORLD|MAJOR|MINOR)_VERSION +[0-9]+")
    if("${lines}" MATCHES "EIGEN_WORLD_VERSION +([0-9]+).*EIGEN_MAJOR_VERSION +([0-9]+).*EIGEN_MINOR_VERSION +([0-9]+)")
      set(version "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}")
    elseif("${lines}" MATCHES "EIGEN_MAJOR_VERSION +([0-9]+)")
      set(version "${CMAKE_MATCH_1}")
    endif()
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

refarray_find_headers(Eigen Eigen/Core
  TARGET Eigen::Headers
  ARCHIVE Eigen/*
  BELOW 4
  REFUSED "Eigen is not supported"
  SYSTEM_SUFFIXES eigen3 include/eigen3
  REQUIREMENT_SUFFIX cmeel.prefix/include/eigen3
  NEEDED "Eigen ${Eigen_FIND_VERSION} or newer, below 4,"
  PACKAGES "libeigen3-dev (Debian 12 and newer), conda-forge `eigen` or vcpkg `eigen3`"
  REQUIREMENT "cmeel-eigen>=3.4,<4")
