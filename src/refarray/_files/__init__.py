"""Arrays in files: .npy, safetensors, and elements at any place of a file."""
