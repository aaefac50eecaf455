# Fails when PROGRAM needs a Python library at run time: the C++ layers must work where no interpreter exists.
execute_process(COMMAND ldd "${PROGRAM}" OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
if(needed MATCHES "libpython")
  message(FATAL_ERROR "${PROGRAM} is linked with Python:\n${needed}")
endif()
