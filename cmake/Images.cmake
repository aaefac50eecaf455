# Owns how the compiled device kernels come into the runtime layer: files that its assembler reads.
set(images "${PROJECT_SOURCE_DIR}/src/runtime/kernels/images")
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/runtime/kernels/images.cpp" PROPERTIES
    COMPILE_DEFINITIONS "REFARRAY_IMAGES=\"${images}\""
    # Assembly at file level is lost on link-time optimisation, which would look for its symbols elsewhere.
    COMPILE_OPTIONS -fno-lto
    OBJECT_DEPENDS "${images}/refarray.ptx;${images}/refarray.hipfb")
