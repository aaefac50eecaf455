"""Device memory, streams and driver calls for the checks of device exchanges."""
