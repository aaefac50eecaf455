"""Scripts that reproduce findings without refarray: by ctypes and the library's own functions."""
