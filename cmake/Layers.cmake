# Compile options of all targets, and the layers: each folder of src/ is one static library.

# A source whose name ends with a system is for that system: stack_bounds_windows.cpp. This is the end of all others.
if(WIN32)
  set(other_systems "_(linux|macos|posix)\\.cpp$")
elseif(APPLE)
  set(other_systems "_(linux|windows)\\.cpp$")
else()
  set(other_systems "_(macos|windows)\\.cpp$")
endif()

# Sets warnings, sanitizers and link-time optimisation of a target.
function(refarray_compile target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                         $<$<BOOL:${REFARRAY_DEVELOPER}>:-Werror>)
  # The linker drops unused functions of a layer; calls into the interpreter skip the PLT.
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections
                         $<$<NOT:$<PLATFORM_ID:Darwin,Windows>>:-fno-plt>)
  # -ffp-contract=off: a multiply and add is fused where the source says so, also where the processor always has it.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  if(WIN32)
    # More sections than an object of Windows has by default. Its headers define min() and max() as macros.
    target_compile_options(${target} PRIVATE -Wa,-mbig-obj)
    target_compile_definitions(${target} PRIVATE NOMINMAX WIN32_LEAN_AND_MEAN)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # With g++ -Wconversion leaves signs out, in C++. clang does not know `GCC ivdep`, and checks for overlap at run time.
    # libstdc++ 12 calls functions that it deprecates. A lambda's capture may be a constant in one template instance only.
    target_compile_options(${target} PRIVATE -Wno-sign-conversion -Wno-unknown-pragmas -Wno-deprecated-declarations
                           -Wno-unused-lambda-capture)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 wrongly warns of overlapping copies inside std::string's operator+ (bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(REFARRAY_DEVELOPER AND NOT REFARRAY_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Threads of others have stacks of 64 KiB. An array on the stack takes 1 KiB, for its layout of up to 64 axes, and
    # some functions hold several: in the heap they would take longer than small products. Those that call kernels below
    # them are split. Blocks of elements are in core/memory/scratch.hpp.
    target_compile_options(${target} PRIVATE -Wframe-larger-than=14336)
  endif()
  if(REFARRAY_KEEP_MEMORY AND (NOT REFARRAY_SANITIZE OR REFARRAY_SANITIZE STREQUAL "thread"))
    target_compile_definitions(${target} PRIVATE REFARRAY_KEEP_MEMORY=1)
  endif()
  if(REFARRAY_SANITIZE)
    list(JOIN REFARRAY_SANITIZE "," sanitizers)
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizers} -fno-sanitize-recover=all
                           -fno-omit-frame-pointer -g)
    target_link_options(${target} PRIVATE -fsanitize=${sanitizers})
  endif()
  if(REFARRAY_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)  # coverage feedback for the fuzzer
  endif()
  set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION "${link_time_optimisation}")
endfunction()

# refarray_layer(name libraries...): the static library refarray_<name> of src/<name>, linked with the given libraries.
function(refarray_layer name)
  if(compiled_layers)
    set(library "${compiled_layers}/librefarray_${name}.a")
    if(NOT EXISTS "${library}")
      message(FATAL_ERROR "REFARRAY_LAYERS: ${library} does not exist; build it first")
    endif()
    add_library(refarray_${name} STATIC IMPORTED)
    set_target_properties(refarray_${name} PROPERTIES IMPORTED_LOCATION "${library}")
    target_include_directories(refarray_${name} INTERFACE "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(refarray_${name} INTERFACE ${ARGN})
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "${other_systems}")
  list(FILTER sources EXCLUDE REGEX "/(core/kernels/level|compute/(kernels|math/levels)/.*)\\.cpp$")  # once per instruction set: see Kernels.cmake, Compute.cmake
  list(FILTER sources EXCLUDE REGEX "/compute/linalg/decompositions/.*\\.cpp$")  # they include Eigen: see Compute.cmake
  add_library(refarray_${name} STATIC ${sources})
  target_include_directories(refarray_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(refarray_${name} PUBLIC ${ARGN})
  refarray_compile(refarray_${name})
endfunction()

# refarray_precompile(target headers...): reading these headers is half of what compiling a file of the target takes. Builds
# with warnings as errors check that each file includes what it needs.
function(refarray_precompile target)
  if(NOT REFARRAY_DEVELOPER)
    list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/src/")
    target_precompile_headers(${target} PRIVATE ${ARGN})
    # g++ 12 forgets that the headers of std::string are the system's, and wrongly warns of them.
    target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds>")
  endif()
endfunction()

# refarray_objects(layer name sources...): objects of a layer whose options the caller adds to. They have no link-time
# optimisation, which could merge functions of different instruction sets.
function(refarray_objects layer name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  refarray_compile(${name})
  if(REFARRAY_DEVELOPER AND NOT REFARRAY_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND
     NOT name STREQUAL "refarray_decompositions")
    target_compile_options(${name} PRIVATE -Wframe-larger-than=4096)  # kernels hold no arrays
  endif()
  set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  if(NOT compiled_objects)
    target_sources(refarray_${layer} PRIVATE $<TARGET_OBJECTS:${name}>)
    return()
  endif()
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${source}")
    set(object "${compiled_objects}/CMakeFiles/${name}.dir/${path}${CMAKE_CXX_OUTPUT_EXTENSION}")
    if(NOT EXISTS "${object}")
      message(FATAL_ERROR "REFARRAY_OBJECTS: ${object} does not exist; build it first")
    endif()
    target_sources(refarray_${layer} PRIVATE "${object}")
  endforeach()
endfunction()
