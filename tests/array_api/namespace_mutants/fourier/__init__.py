"""Mutants of the extension fft."""
