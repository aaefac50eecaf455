# Owns the extension modules refarray._native and refarray.conformance._adversary, and everything else that CMake puts
# into the wheel.

# The headers a consumer may include from refarray.get_include(): header-only, no library of ours to link with.
set(REFARRAY_SHIPPED_HEADERS
    refarray/core/device.hpp
    refarray/core/dtype.hpp
    refarray/dlpack/managed.hpp
    refarray/dlpack/wire.hpp)

if(SKBUILD_SABI_VERSION)
  set(python_component Development.SABIModule)
else()
  set(python_component Development.Module)
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter ${python_component})

if(SKBUILD_SABI_VERSION)
  string(REPLACE "." "" abi "abi3-cp${SKBUILD_SABI_VERSION}")
else()
  string(REGEX REPLACE "^cpython-([0-9]+t?).*" "cp\\1" abi "${Python_SOABI}")  # "t" is a free-threaded one
endif()

# An extension module of the sources in a folder, for the limited API where one is asked for.
function(refarray_extension name folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  if(SKBUILD_SABI_VERSION)
    python_add_library(${name} MODULE WITH_SOABI USE_SABI ${SKBUILD_SABI_VERSION} ${sources})
  else()
    python_add_library(${name} MODULE WITH_SOABI ${sources})
  endif()
  refarray_compile(${name})
  if(APPLE)
    target_link_options(${name} PRIVATE -Wl,-exported_symbol,_PyInit_${name})
    return()
  endif()
  target_link_options(${name} PRIVATE "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map"
                      -Wl,--gc-sections)
  if(NOT REFARRAY_SANITIZE)
    # Loading and relocating the C++ library would be half of the import's time and most of its memory; what we use of
    # it is small, and no exception of ours leaves a module. A sanitizer must see the shared one. libgcc stays shared:
    # two unwinders in one process cannot end a thread (pthread_exit, as Python before 3.14 does at its own end).
    target_link_options(${name} PRIVATE -static-libstdc++)
  endif()
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/exports.map")
endfunction()

refarray_extension(_native src/extension)
target_link_libraries(_native PRIVATE refarray_dlpack)
if(REFARRAY_SANITIZE)
  # A handler for abi::__forced_unwind binds a reference to no object (a thread that is ended throws none).
  target_compile_options(_native PRIVATE -fno-sanitize=null)
endif()
target_compile_definitions(_native PRIVATE
    REFARRAY_VERSION="${REFARRAY_VERSION}"
    REFARRAY_ABI="${abi}"
    REFARRAY_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    REFARRAY_BUILD_TYPE="${CMAKE_BUILD_TYPE}"
    REFARRAY_DLPACK_ORIGIN="${DLPack_ORIGIN}")

# What the conformance kit tries other libraries with. It breaks the protocol on purpose, so it has nothing of ours in it.
refarray_extension(_adversary src/adversary)
target_link_libraries(_adversary PRIVATE DLPack::DLPack)

if(under_pip)
  install(TARGETS _native LIBRARY DESTINATION . COMPONENT refarray)
  install(TARGETS _adversary LIBRARY DESTINATION conformance COMPONENT refarray)
  foreach(header IN LISTS REFARRAY_SHIPPED_HEADERS)
    get_filename_component(folder "${header}" DIRECTORY)
    install(FILES "${PROJECT_SOURCE_DIR}/include/${header}" DESTINATION "include/${folder}" COMPONENT refarray)
  endforeach()
  # DLPack is under Apache-2.0 as we are: its header travels with that text and the notice that names its authors.
  install(FILES "${DLPack_INCLUDE_DIR}/dlpack/dlpack.h" LICENSE NOTICE DESTINATION include/dlpack COMPONENT refarray)
else()
  # Without pip the whole package stands in <build>/python, to be named in PYTHONPATH (sanitizer and coverage builds).
  set_target_properties(_native PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/python/refarray")
  set_target_properties(_adversary PROPERTIES
                        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/python/refarray/conformance")
  # In every build: a change of a Python file alone links nothing again.
  add_custom_target(refarray_python ALL
                    COMMAND ${CMAKE_COMMAND} -E copy_directory "${PROJECT_SOURCE_DIR}/src/refarray"
                            "${PROJECT_BINARY_DIR}/python/refarray")
  add_dependencies(_native refarray_python)  # who asks for the extension alone gets a package too
endif()
