"""Call wrappers for the library under test, the kit's own producers, and the corpus of tensors."""
