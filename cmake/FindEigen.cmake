# Finds the header-only library Eigen, which this repository never stores: a given path, then the system and
# CMAKE_PREFIX_PATH, then a build requirement's copy (cmeel-eigen), then a pinned download.
#
#   find_package(Eigen 3.4 MODULE REQUIRED)
#
# Input    EIGEN_INCLUDE_DIR          a folder that holds Eigen/Core (cache or environment); nothing else is tried
#          REFARRAY_DOWNLOAD_EIGEN    whether the download may be tried
#          REFARRAY_EIGEN_URL         where the release archive is fetched from: any URL, also file://
#          REFARRAY_EIGEN_SHA256      what the fetched archive must hash to
# Result   Eigen::Headers             an interface target with the include folder
#          Eigen_VERSION              from the header's macros
#          Eigen_ORIGIN               "given", "system", "build requirement" or "download"
#          Eigen_INCLUDE_DIR
#
# Versions of the next major number are refused: src/compute/linalg calls functions of Eigen that are not in its manual.

set(REFARRAY_EIGEN_URL
    "https://gitlab.com/libeigen/eigen/-/archive/3.4.1/eigen-3.4.1.tar.gz"
    CACHE STRING "Where the release archive of Eigen is downloaded from when it is not found")
set(REFARRAY_EIGEN_SHA256
    "b93c667d1b69265cdb4d9f30ec21f8facbbe8b307cf34c0b9942834c6d4fdbe2"
    CACHE STRING "SHA-256 of the downloaded archive")
mark_as_advanced(REFARRAY_EIGEN_URL REFARRAY_EIGEN_SHA256)
set(_eigen_next 4)

# Sets `result` to "3.4.1" as the headers in `folder` define it, or to "".
function(_eigen_version folder result)
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

# Whether `folder` holds a version that is supported; what is refused is remembered for the message.
function(_eigen_accepts result folder)
  if(NOT EXISTS "${folder}/Eigen/Core")
    set(${result} FALSE PARENT_SCOPE)
    return()
  endif()
  _eigen_version("${folder}" version)
  if(NOT version OR version VERSION_LESS Eigen_FIND_VERSION OR version VERSION_GREATER_EQUAL _eigen_next)
    set_property(GLOBAL APPEND PROPERTY _eigen_refused
                 "    ${folder}/Eigen is not supported: version \"${version}\"")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Downloads and unpacks the pinned archive below the build folder; sets Eigen_INCLUDE_DIR when it is the expected file.
function(_eigen_download)
  set(folder "${CMAKE_BINARY_DIR}/eigen-download")
  set(archive "${folder}/eigen.tar.gz")
  set(problem "")
  if(NOT EXISTS "${archive}")
    file(DOWNLOAD "${REFARRAY_EIGEN_URL}" "${archive}.part" STATUS status TIMEOUT 120)
    list(POP_FRONT status code)
    if(code EQUAL 0)
      file(RENAME "${archive}.part" "${archive}")
    else()
      file(REMOVE "${archive}.part")
      set(problem "could not be downloaded: ${status}")
    endif()
  endif()
  if(NOT problem)
    file(SHA256 "${archive}" hash)
    if(NOT hash STREQUAL REFARRAY_EIGEN_SHA256)
      file(REMOVE "${archive}")
      set(problem "was refused: its SHA-256 is\n      ${hash}, not\n      ${REFARRAY_EIGEN_SHA256}")
    endif()
  endif()
  if(NOT problem)
    file(REMOVE_RECURSE "${folder}/unpacked")
    file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${folder}/unpacked" PATTERNS "*/Eigen/*")
    file(GLOB unpacked "${folder}/unpacked/*/Eigen/Core")
    if(unpacked)
      get_filename_component(unpacked "${unpacked}" DIRECTORY)
      get_filename_component(unpacked "${unpacked}" DIRECTORY)
    else()
      set(problem "has no Eigen/Core")
    endif()
  endif()
  if(problem)
    set_property(GLOBAL APPEND PROPERTY _eigen_refused "    ${REFARRAY_EIGEN_URL} ${problem}")
    return()
  endif()
  set(supported TRUE)
  _eigen_accepts(supported "${unpacked}")
  if(supported)
    set(Eigen_INCLUDE_DIR "${unpacked}" PARENT_SCOPE)
  endif()
endfunction()

set_property(GLOBAL PROPERTY _eigen_refused "")
unset(Eigen_INCLUDE_DIR)
set(Eigen_ORIGIN "")
set(_eigen_given "${EIGEN_INCLUDE_DIR}")
if(NOT _eigen_given)
  set(_eigen_given "$ENV{EIGEN_INCLUDE_DIR}")
endif()

if(_eigen_given)
  # What the user names is used or refused, as for dlpack.h.
  set(_eigen_ok TRUE)
  _eigen_accepts(_eigen_ok "${_eigen_given}")
  if(_eigen_ok)
    set(Eigen_INCLUDE_DIR "${_eigen_given}")
    set(Eigen_ORIGIN "given")
  elseif(NOT EXISTS "${_eigen_given}/Eigen/Core")
    set_property(GLOBAL APPEND PROPERTY _eigen_refused
                 "    EIGEN_INCLUDE_DIR is ${_eigen_given}, which has no Eigen/Core")
  endif()
else()
  # Nothing found goes into the cache: pip's temporary build environment is gone at the next configuration.
  find_path(_eigen_found Eigen/Core PATH_SUFFIXES eigen3 include/eigen3 VALIDATOR _eigen_accepts NO_CACHE)
  if(_eigen_found)
    set(Eigen_INCLUDE_DIR "${_eigen_found}")
    set(Eigen_ORIGIN "system")
  else()
    find_path(_eigen_required Eigen/Core PATH_SUFFIXES cmeel.prefix/include/eigen3 VALIDATOR _eigen_accepts NO_CACHE)
    if(_eigen_required)
      set(Eigen_INCLUDE_DIR "${_eigen_required}")
      set(Eigen_ORIGIN "build requirement")
    elseif(REFARRAY_DOWNLOAD_EIGEN)
      _eigen_download()
      if(Eigen_INCLUDE_DIR)
        set(Eigen_ORIGIN "download")
      endif()
    endif()
  endif()
endif()

if(Eigen_INCLUDE_DIR)
  set(Eigen_FOUND TRUE)
  _eigen_version("${Eigen_INCLUDE_DIR}" Eigen_VERSION)
  if(NOT TARGET Eigen::Headers)
    add_library(Eigen::Headers INTERFACE IMPORTED)
    set_target_properties(Eigen::Headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Eigen_INCLUDE_DIR}")
  endif()
  if(NOT Eigen_FIND_QUIETLY)
    message(STATUS "Eigen ${Eigen_VERSION} (${Eigen_ORIGIN}): ${Eigen_INCLUDE_DIR}")
  endif()
else()
  set(Eigen_FOUND FALSE)
  get_property(_eigen_refused GLOBAL PROPERTY _eigen_refused)
  list(REMOVE_DUPLICATES _eigen_refused)
  if(NOT _eigen_refused)
    set(_eigen_refused "    no Eigen/Core in the system's folders or CMAKE_PREFIX_PATH")
  endif()
  list(JOIN _eigen_refused "\n" _eigen_refused)
  string(CONCAT _eigen_message
    "Eigen ${Eigen_FIND_VERSION} or newer, below ${_eigen_next}, is needed and was not found.\n${_eigen_refused}\n"
    "  Any one of these provides it:\n"
    "    1. -DEIGEN_INCLUDE_DIR=FOLDER or the environment variable of that name, where FOLDER/Eigen/Core exists\n"
    "    2. a package: libeigen3-dev (Debian 12 and newer), conda-forge `eigen` or vcpkg `eigen3`;"
    " in an unusual place add -DCMAKE_PREFIX_PATH=PREFIX\n"
    "    3. pip install \"cmeel-eigen>=3.4,<4\" and -DCMAKE_PREFIX_PATH=SITE_PACKAGES (`pip install .` does this itself)\n"
    "    4. -DREFARRAY_DOWNLOAD_EIGEN=ON, from -DREFARRAY_EIGEN_URL=... with -DREFARRAY_EIGEN_SHA256=...")
  if(Eigen_FIND_REQUIRED)
    message(FATAL_ERROR "${_eigen_message}")
  elseif(NOT Eigen_FIND_QUIETLY)
    message(STATUS "${_eigen_message}")
  endif()
endif()
