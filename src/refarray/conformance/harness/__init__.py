"""The kit's own producers and consumers, and the corpus of managed tensors that it hands out."""
