# What FindDLPack.cmake and FindEigen.cmake share: the search for headers that this repository never stores. A given path,
# then the system and CMAKE_PREFIX_PATH, then a build requirement's copy, then a pinned download.
#
#   refarray_find_headers(PACKAGE FILE ...)
#
# For the package X, DLPack for instance, with its name in capitals in the variables that users set:
#
# Input    X_INCLUDE_DIR         a folder that holds FILE (cache or environment); nothing else is tried
#          REFARRAY_DOWNLOAD_X   whether the download may be tried
#          REFARRAY_X_URL        where FILE, or an archive that has it, is fetched from: any URL, also file://
#          REFARRAY_X_SHA256     what the fetched file must hash to
#          x_version()           a function (folder, result): the version of the headers in a folder, or ""
# Result   TARGET                an interface target with the include folder
#          X_VERSION             from the header's macros
#          X_ORIGIN              "given", "system", "build requirement" or "download"
#          X_INCLUDE_DIR, X_FOUND
#
# The other arguments: ARCHIVE, what of the archive is unpacked; BELOW, the first version that is refused; REFUSED, what is
# said of a folder's version that is; SYSTEM_SUFFIXES and REQUIREMENT_SUFFIX, where FILE lies in a prefix; NEEDED, PACKAGES
# and REQUIREMENT, for the message that nothing was found.

# Whether `folder` holds a version that is supported; what is refused is remembered for the message. This function and the
# next see the variables of refarray_find_headers(), which calls them.
function(_headers_accept result folder)
  if(NOT EXISTS "${folder}/${file}")
    set(${result} FALSE PARENT_SCOPE)
    return()
  endif()
  cmake_language(CALL ${lower}_version "${folder}" version)
  if(NOT version OR version VERSION_LESS ${package}_FIND_VERSION OR (arg_BELOW AND NOT version VERSION_LESS arg_BELOW))
    set_property(GLOBAL APPEND PROPERTY _${lower}_refused "    ${folder}/${arg_REFUSED}: version \"${version}\"")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Downloads and unpacks below the build folder; sets `found` when it is the expected file.
function(_headers_download)
  set(url "${REFARRAY_${upper}_URL}")
  set(sha256 "${REFARRAY_${upper}_SHA256}")
  set(folder "${CMAKE_BINARY_DIR}/${lower}-download")
  set(fetched "${folder}/${file}")
  if(arg_ARCHIVE)
    set(fetched "${folder}/${lower}.tar.gz")
  endif()
  set(problem "")
  if(NOT EXISTS "${fetched}")
    file(DOWNLOAD "${url}" "${fetched}.part" STATUS status TIMEOUT 120)
    list(POP_FRONT status code)
    if(code EQUAL 0)
      file(RENAME "${fetched}.part" "${fetched}")
    else()
      file(REMOVE "${fetched}.part")
      set(problem "could not be downloaded: ${status}")
    endif()
  endif()
  if(NOT problem)
    file(SHA256 "${fetched}" hash)
    if(NOT hash STREQUAL sha256)
      file(REMOVE "${fetched}")
      set(problem "was refused: its SHA-256 is\n      ${hash}, not\n      ${sha256}")
    elseif(arg_ARCHIVE)
      file(REMOVE_RECURSE "${folder}/unpacked")
      file(ARCHIVE_EXTRACT INPUT "${fetched}" DESTINATION "${folder}/unpacked" PATTERNS "*/${arg_ARCHIVE}")
      file(GLOB folder "${folder}/unpacked/*")
      if(NOT EXISTS "${folder}/${file}")
        set(problem "has no ${file}")
      endif()
    endif()
  endif()
  if(problem)
    set_property(GLOBAL APPEND PROPERTY _${lower}_refused "    ${url} ${problem}")
    return()
  endif()
  set(supported TRUE)
  _headers_accept(supported "${folder}")
  if(supported)
    set(found "${folder}" PARENT_SCOPE)
  endif()
endfunction()

function(refarray_find_headers package file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "ARCHIVE;BELOW;NEEDED;PACKAGES;REFUSED;REQUIREMENT;REQUIREMENT_SUFFIX;TARGET"
                        "SYSTEM_SUFFIXES")
  string(TOUPPER "${package}" upper)
  string(TOLOWER "${package}" lower)
  set_property(GLOBAL PROPERTY _${lower}_refused "")
  set(given "${${upper}_INCLUDE_DIR}")
  if(NOT given)
    set(given "$ENV{${upper}_INCLUDE_DIR}")
  endif()
  unset(found)
  if(given)
    # What the user names is used or refused: silently taking another header would hide a typing error.
    set(origin "given")
    set(accepted TRUE)
    _headers_accept(accepted "${given}")
    if(accepted)
      set(found "${given}")
    elseif(NOT EXISTS "${given}/${file}")
      set_property(GLOBAL APPEND PROPERTY _${lower}_refused
                   "    ${upper}_INCLUDE_DIR is ${given}, which has no ${file}")
    endif()
  else()
    # Nothing found goes into the cache: pip's temporary build environment is gone at the next configuration.
    set(origin "system")
    find_path(found "${file}" PATH_SUFFIXES ${arg_SYSTEM_SUFFIXES} VALIDATOR _headers_accept NO_CACHE)
    if(NOT found)
      set(origin "build requirement")
      find_path(found "${file}" PATH_SUFFIXES "${arg_REQUIREMENT_SUFFIX}" VALIDATOR _headers_accept NO_CACHE)
    endif()
    if(NOT found AND REFARRAY_DOWNLOAD_${upper})
      set(origin "download")
      _headers_download()
    endif()
  endif()
  if(found)
    cmake_language(CALL ${lower}_version "${found}" version)
    if(NOT TARGET ${arg_TARGET})
      add_library(${arg_TARGET} INTERFACE IMPORTED)
      set_target_properties(${arg_TARGET} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${found}")
    endif()
    set(text "${package} ${version} (${origin}): ${found}")
  else()
    get_property(refused GLOBAL PROPERTY _${lower}_refused)
    list(REMOVE_DUPLICATES refused)
    if(NOT refused)
      set(refused "    no ${file} in the system's folders or CMAKE_PREFIX_PATH")
    endif()
    list(JOIN refused "\n" refused)
    string(CONCAT text
      "${arg_NEEDED} is needed and was not found.\n${refused}\n"
      "  Any one of these provides it:\n"
      "    1. -D${upper}_INCLUDE_DIR=FOLDER or the environment variable of that name, where FOLDER/${file} exists\n"
      "    2. a package: ${arg_PACKAGES}; in an unusual place add -DCMAKE_PREFIX_PATH=PREFIX\n"
      "    3. pip install \"${arg_REQUIREMENT}\" and -DCMAKE_PREFIX_PATH=SITE_PACKAGES (`pip install .` does this itself)\n"
      "    4. -DREFARRAY_DOWNLOAD_${upper}=ON, from -DREFARRAY_${upper}_URL=... with -DREFARRAY_${upper}_SHA256=...")
    if(${package}_FIND_REQUIRED)
      message(FATAL_ERROR "${text}")
    endif()
    set(found FALSE)
    set(origin "")
    set(version "")
  endif()
  if(NOT ${package}_FIND_QUIETLY)
    message(STATUS "${text}")
  endif()
  set(${package}_FOUND "${found}" PARENT_SCOPE)
  set(${package}_INCLUDE_DIR "${found}" PARENT_SCOPE)
  set(${package}_ORIGIN "${origin}" PARENT_SCOPE)
  set(${package}_VERSION "${version}" PARENT_SCOPE)
endfunction()
