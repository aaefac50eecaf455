# Installs the headers, and the packages by which CMake and pkg-config find them. There is no library to link.

# Below refarray.get_include().
set(REFARRAY_SHIPPED_HEADERS
    refarray/array_view.hpp
    refarray/core/device.hpp
    refarray/core/dtype.hpp
    refarray/core/forced_unwind.hpp
    refarray/dlpack/exchange.hpp
    refarray/dlpack/managed.hpp
    refarray/dlpack/wire.hpp
    refarray/python/c_api.h
    refarray/python/exchange.hpp
    refarray/python/producer.hpp)
foreach(header IN LISTS REFARRAY_SHIPPED_HEADERS)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/include/${header}" DESTINATION "include/${folder}" COMPONENT refarray)
endforeach()
# dlpack.h is under Apache-2.0 too; the wheel ships it with the licence text and the notice that names its authors.
install(FILES "${DLPack_INCLUDE_DIR}/dlpack/dlpack.h" LICENSE NOTICE DESTINATION include/dlpack COMPONENT refarray)

include(CMakePackageConfigHelpers)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/refarrayConfigVersion.cmake"
                                 COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/refarrayConfig.cmake" "${PROJECT_BINARY_DIR}/refarrayConfigVersion.cmake"
        DESTINATION share/cmake/refarray COMPONENT refarray)  # refarray.get_cmake_dir()
configure_file(cmake/refarray.pc.in refarray.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/refarray.pc"
        DESTINATION share/pkgconfig COMPONENT refarray)  # refarray.get_pkgconfig_dir()
