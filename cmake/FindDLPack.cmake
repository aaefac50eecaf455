# Finds dlpack/dlpack.h, which this repository never stores: a given path, then the system and CMAKE_PREFIX_PATH, then a
# build requirement's copy (apache-tvm-ffi), then a pinned download.
#
#   find_package(DLPack 1.3 MODULE REQUIRED)
#
# Input    DLPACK_INCLUDE_DIR         a folder that holds dlpack/dlpack.h (cache or environment); nothing else is tried
#          REFARRAY_DOWNLOAD_DLPACK   whether the download may be tried
#          REFARRAY_DLPACK_URL        where the header is fetched from: any URL, also file://
#          REFARRAY_DLPACK_SHA256     what the fetched file must hash to
# Result   DLPack::DLPack             an interface target with the include folder
#          DLPack_VERSION             from the header's macros: every released CMake config of DLPack reports 0.6
#          DLPack_ORIGIN              "given", "system", "build requirement" or "download"
#          DLPack_INCLUDE_DIR

set(REFARRAY_DLPACK_URL
    "https://raw.githubusercontent.com/dmlc/dlpack/v1.3/include/dlpack/dlpack.h"
    CACHE STRING "Where dlpack.h is downloaded from when it is not found")
# dlpack.h of the upstream tag v1.3, commit 84d107bf416c6bab9ae68ad285876600d230490d.
set(REFARRAY_DLPACK_SHA256
    "62052bef24bd69bb7b52e95428f9e99bd7951783850c36c5f2a41e71fd63c2fc"
    CACHE STRING "SHA-256 of the downloaded dlpack.h")
mark_as_advanced(REFARRAY_DLPACK_URL REFARRAY_DLPACK_SHA256)

# Sets `result` to "major.minor" as `header` defines it, or to "" when it defines neither (before 0.7).
function(_dlpack_version header result)
  set(version "")
  file(STRINGS "${header}" lines REGEX "^#define DLPACK_(MAJOR_|MINOR_)?VERSION ")
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

# Whether `folder` holds a header that is new enough; what is refused is remembered for the message.
function(_dlpack_accepts result folder)
  set(header "${folder}/dlpack/dlpack.h")
  if(NOT EXISTS "${header}")
    set(${result} FALSE PARENT_SCOPE)
    return()
  endif()
  _dlpack_version("${header}" version)
  if(NOT version OR version VERSION_LESS DLPack_FIND_VERSION)
    set_property(GLOBAL APPEND PROPERTY _dlpack_refused
                 "    ${header} is too old: version \"${version}\"")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Downloads the pinned header below the build folder; sets DLPack_INCLUDE_DIR when it is the expected file.
function(_dlpack_download)
  set(folder "${CMAKE_BINARY_DIR}/dlpack-download")
  set(header "${folder}/dlpack/dlpack.h")
  set(problem "")
  if(NOT EXISTS "${header}")
    file(DOWNLOAD "${REFARRAY_DLPACK_URL}" "${header}.part" STATUS status TIMEOUT 30)
    list(POP_FRONT status code)
    if(code EQUAL 0)
      file(RENAME "${header}.part" "${header}")
    else()
      file(REMOVE "${header}.part")
      set(problem "could not be downloaded: ${status}")
    endif()
  endif()
  if(NOT problem)
    file(SHA256 "${header}" hash)
    if(NOT hash STREQUAL REFARRAY_DLPACK_SHA256)
      file(REMOVE "${header}")
      set(problem "was refused: its SHA-256 is\n      ${hash}, not\n      ${REFARRAY_DLPACK_SHA256}")
    endif()
  endif()
  if(problem)
    set_property(GLOBAL APPEND PROPERTY _dlpack_refused "    ${REFARRAY_DLPACK_URL} ${problem}")
    return()
  endif()
  set(new_enough TRUE)
  _dlpack_accepts(new_enough "${folder}")
  if(new_enough)
    set(DLPack_INCLUDE_DIR "${folder}" PARENT_SCOPE)
  endif()
endfunction()

set_property(GLOBAL PROPERTY _dlpack_refused "")
unset(DLPack_INCLUDE_DIR)
set(DLPack_ORIGIN "")
set(_dlpack_given "${DLPACK_INCLUDE_DIR}")
if(NOT _dlpack_given)
  set(_dlpack_given "$ENV{DLPACK_INCLUDE_DIR}")
endif()

if(_dlpack_given)
  # What the user names is used or refused: silently taking another header would hide a typing error.
  set(_dlpack_ok TRUE)
  _dlpack_accepts(_dlpack_ok "${_dlpack_given}")
  if(_dlpack_ok)
    set(DLPack_INCLUDE_DIR "${_dlpack_given}")
    set(DLPack_ORIGIN "given")
  elseif(NOT EXISTS "${_dlpack_given}/dlpack/dlpack.h")
    set_property(GLOBAL APPEND PROPERTY _dlpack_refused
                 "    DLPACK_INCLUDE_DIR is ${_dlpack_given}, which has no dlpack/dlpack.h")
  endif()
else()
  # Nothing found goes into the cache: pip's temporary build environment is gone at the next configuration.
  find_path(_dlpack_found dlpack/dlpack.h VALIDATOR _dlpack_accepts NO_CACHE)
  if(_dlpack_found)
    set(DLPack_INCLUDE_DIR "${_dlpack_found}")
    set(DLPack_ORIGIN "system")
  else()
    find_path(_dlpack_required dlpack/dlpack.h PATH_SUFFIXES tvm_ffi/include VALIDATOR _dlpack_accepts
              NO_CACHE)
    if(_dlpack_required)
      set(DLPack_INCLUDE_DIR "${_dlpack_required}")
      set(DLPack_ORIGIN "build requirement")
    elseif(REFARRAY_DOWNLOAD_DLPACK)
      _dlpack_download()
      if(DLPack_INCLUDE_DIR)
        set(DLPack_ORIGIN "download")
      endif()
    endif()
  endif()
endif()

if(DLPack_INCLUDE_DIR)
  set(DLPack_FOUND TRUE)
  _dlpack_version("${DLPack_INCLUDE_DIR}/dlpack/dlpack.h" DLPack_VERSION)
  if(NOT TARGET DLPack::DLPack)
    add_library(DLPack::DLPack INTERFACE IMPORTED)
    set_target_properties(DLPack::DLPack PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${DLPack_INCLUDE_DIR}")
  endif()
  if(NOT DLPack_FIND_QUIETLY)
    message(STATUS "DLPack ${DLPack_VERSION} (${DLPack_ORIGIN}): ${DLPack_INCLUDE_DIR}")
  endif()
else()
  set(DLPack_FOUND FALSE)
  get_property(_dlpack_refused GLOBAL PROPERTY _dlpack_refused)
  list(REMOVE_DUPLICATES _dlpack_refused)
  if(NOT _dlpack_refused)
    set(_dlpack_refused "    no dlpack/dlpack.h in the system's folders or CMAKE_PREFIX_PATH")
  endif()
  list(JOIN _dlpack_refused "\n" _dlpack_refused)
  string(CONCAT _dlpack_message
    "dlpack.h ${DLPack_FIND_VERSION} or newer is needed and was not found.\n${_dlpack_refused}\n"
    "  Any one of these provides it:\n"
    "    1. -DDLPACK_INCLUDE_DIR=FOLDER or the environment variable of that name, where FOLDER/dlpack/dlpack.h exists\n"
    "    2. a package: conda-forge or vcpkg `dlpack`, or libdlpack-dev >= 1.3 (Debian 12 has 0.6, Debian 13 has 1.0);"
    " in an unusual place add -DCMAKE_PREFIX_PATH=PREFIX\n"
    "    3. pip install \"apache-tvm-ffi>=0.1.12\" and -DCMAKE_PREFIX_PATH=SITE_PACKAGES (`pip install .` does this itself)\n"
    "    4. -DREFARRAY_DOWNLOAD_DLPACK=ON, from -DREFARRAY_DLPACK_URL=... with -DREFARRAY_DLPACK_SHA256=...")
  if(DLPack_FIND_REQUIRED)
    message(FATAL_ERROR "${_dlpack_message}")
  elseif(NOT DLPack_FIND_QUIETLY)
    message(STATUS "${_dlpack_message}")
  endif()
endif()
