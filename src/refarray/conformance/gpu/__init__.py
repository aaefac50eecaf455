"""Device memory, streams and driver calls that the checks of device exchanges need."""
