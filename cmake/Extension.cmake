# The extension modules refarray._native and refarray.conformance._adversary, and everything else in the wheel.

if(SKBUILD_SABI_VERSION)
  set(python_component Development.SABIModule)
else()
  set(python_component Development.Module)
endif()
# A foreign interpreter runs under an emulator, if there is one; without it, headers are enough for the limited API.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  list(PREPEND python_component Interpreter)
endif()
find_package(Python 3.11 REQUIRED COMPONENTS ${python_component})

if(SKBUILD_SABI_VERSION)
  if(Py_TARGET_ABI3T)  # one module for CPythons with and without a GIL
    set(Python_SOSABI abi3t)
  endif()
  set(stable_abi "${Python_SOSABI}")
  if(NOT stable_abi)  # names of modules for Windows do not have it
    set(stable_abi abi3)
  endif()
  string(REPLACE "." "" abi "${stable_abi}-cp${SKBUILD_SABI_VERSION}")
else()
  string(REGEX REPLACE "^cpython-([0-9]+t?).*" "cp\\1" abi "${Python_SOABI}")  # "t": free-threaded
endif()

# Builds an extension module of the sources below a folder, for the limited API if scikit-build-core requests it.
function(refarray_extension name folder)
  set(entry PyInit_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "${other_systems}")
  # Of src/extension: shared memory and the part that computes, or what stands for them.
  if(TARGET refarray_shared)
    list(FILTER sources EXCLUDE REGEX "/without_shared\\.cpp$")
  else()
    list(FILTER sources EXCLUDE REGEX "/shared_(functions|devices)\\.cpp$")
  endif()
  if(REFARRAY_COMPUTE)
    list(FILTER sources EXCLUDE REGEX "/without_compute\\.cpp$")
  else()
    list(FILTER sources EXCLUDE REGEX "/extension/compute/")
  endif()
  if(SKBUILD_SABI_VERSION)
    python_add_library(${name} MODULE WITH_SOABI USE_SABI ${SKBUILD_SABI_VERSION} ${sources})
    if(Py_TARGET_ABI3T)
      target_compile_definitions(${name} PRIVATE Py_TARGET_ABI3T=0x030f0000)  # CPython 3.15, the first that has it
      set(entry PyModExport_${name})
    endif()
  else()
    python_add_library(${name} MODULE WITH_SOABI ${sources})
  endif()
  refarray_compile(${name})
  if(APPLE)
    target_link_options(${name} PRIVATE -Wl,-exported_symbol,_${entry})
    return()
  endif()
  if(WIN32)  # exported is what CPython's headers say: the entry point
    target_link_options(${name} PRIVATE -static-libstdc++ -Wl,--gc-sections -s)
    return()
  endif()
  # Exports the entry point and nothing else, not even the C++ library's own templates.
  set(exports "${PROJECT_BINARY_DIR}/${name}.map")
  file(CONFIGURE OUTPUT "${exports}" CONTENT "{ global: ${entry}; local: *; };\n")
  target_link_options(${name} PRIVATE "-Wl,--version-script=${exports}" -Wl,--gc-sections)
  if(NOT REFARRAY_SANITIZE)
    # Loading and relocating libstdc++ would be half of the import time and most of its memory. We use little of it, and
    # no exception leaves a module. Sanitizers need the shared library. libgcc stays shared: with two unwinders in one
    # process, pthread_exit fails, which Python before 3.14 calls in daemon threads at exit.
    target_link_options(${name} PRIVATE -static-libstdc++)
  endif()
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${exports}")
endfunction()

refarray_extension(_native src/extension)
refarray_precompile(_native extension/capi/errors.hpp extension/objects/array_object.hpp)
target_link_libraries(_native PRIVATE $<TARGET_NAME_IF_EXISTS:refarray_compute> $<TARGET_NAME_IF_EXISTS:refarray_shared>
                      refarray_dlpack)
if(REFARRAY_SANITIZE)
  # A handler for abi::__forced_unwind binds a null reference: pthread_exit throws no object.
  target_compile_options(_native PRIVATE -fno-sanitize=null)
  target_compile_options(refarray_dlpack PRIVATE -fno-sanitize=null)
endif()
target_compile_definitions(_native PRIVATE
    REFARRAY_VERSION="${REFARRAY_VERSION}"
    REFARRAY_ABI="${abi}"
    REFARRAY_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    REFARRAY_BUILD_TYPE="${CMAKE_BUILD_TYPE}"
    REFARRAY_DLPACK_ORIGIN="${DLPack_ORIGIN}")

# The conformance kit's hostile producer and consumer. It breaks the protocol on purpose and links with none of the layers.
refarray_extension(_adversary src/refarray/conformance/native)
if(REFARRAY_SANITIZE)
  target_compile_options(_adversary PRIVATE -fno-sanitize=null)  # as above
endif()
target_link_libraries(_adversary PRIVATE DLPack::DLPack)

if(under_pip)
  install(TARGETS _native LIBRARY DESTINATION . COMPONENT refarray)
  install(TARGETS _adversary LIBRARY DESTINATION conformance COMPONENT refarray)
  install(FILES src/refarray_strict.py DESTINATION "${SKBUILD_PLATLIB_DIR}" COMPONENT refarray)  # beside the package
  include(cmake/Package.cmake)
  include(cmake/Sbom.cmake)
else()
  # Without pip the whole package is in <build>/python, for PYTHONPATH (sanitizer and coverage builds).
  set_target_properties(_native PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/python/refarray")
  set_target_properties(_adversary PROPERTIES
                        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/python/refarray/conformance")
  # Runs in every build, so that a change of a Python file does not relink the modules.
  add_custom_target(refarray_python ALL
                    # The kit finds its checks by their files: deleted ones must not stay.
                    COMMAND ${CMAKE_COMMAND} -E rm -rf "${PROJECT_BINARY_DIR}/python/refarray/conformance/suite"
                    COMMAND ${CMAKE_COMMAND} -E copy_directory "${PROJECT_SOURCE_DIR}/src/refarray"
                            "${PROJECT_BINARY_DIR}/python/refarray"
                    COMMAND ${CMAKE_COMMAND} -E copy "${PROJECT_SOURCE_DIR}/src/refarray_strict.py"
                            "${PROJECT_BINARY_DIR}/python")
  add_dependencies(_native refarray_python)  # building _native alone gives a complete package
endif()
