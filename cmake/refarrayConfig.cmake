# The installed CMake package of refarray: its headers, and dlpack.h beside them, as the target refarray::refarray.
#
#   find_package(refarray CONFIG REQUIRED)   # -Drefarray_DIR=$(python -c "import refarray; print(refarray.get_cmake_dir())")
#   target_link_libraries(mine PRIVATE refarray::refarray)

get_filename_component(refarray_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)
if(NOT EXISTS "${refarray_INCLUDE_DIR}/dlpack/dlpack.h")
  set(refarray_FOUND FALSE)
  set(refarray_NOT_FOUND_MESSAGE "${refarray_INCLUDE_DIR} has no dlpack/dlpack.h: the installation of refarray is incomplete")
  return()
endif()
if(NOT TARGET refarray::refarray)
  add_library(refarray::refarray INTERFACE IMPORTED)
  set_target_properties(refarray::refarray PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${refarray_INCLUDE_DIR}")
  get_property(_refarray_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("CXX" IN_LIST _refarray_languages)  # a project in C uses refarray/python/c_api.h only
    target_compile_features(refarray::refarray INTERFACE cxx_std_20)
  endif()
  # refarray/python/ includes Python.h; the other headers do without, so that Python may be missing. Projects that
  # look for Python as Python3 have chosen one already.
  if(_refarray_languages MATCHES "(^|;)C(XX)?(;|$)" AND NOT TARGET Python::Module AND NOT TARGET Python3::Module)
    find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module)
  endif()
  foreach(_refarray_python IN ITEMS Python::Module Python3::Module)
    if(TARGET ${_refarray_python})
      target_link_libraries(refarray::refarray INTERFACE ${_refarray_python})
      break()
    endif()
  endforeach()
  unset(_refarray_python)
  unset(_refarray_languages)
endif()
