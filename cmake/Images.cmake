# Embeds the compiled device kernels into the runtime layer: the assembler includes the image files.
set(images "${PROJECT_SOURCE_DIR}/src/runtime/kernels/images")
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/runtime/kernels/images_linux.cpp"
    "${PROJECT_SOURCE_DIR}/src/runtime/kernels/images_windows.cpp" PROPERTIES
    COMPILE_DEFINITIONS "REFARRAY_IMAGES=\"${images}\""
    # Link-time optimisation loses top-level assembly and its symbols.
    COMPILE_OPTIONS -fno-lto
    OBJECT_DEPENDS "${images}/refarray.ptx;${images}/refarray.hipfb")
