"""The libraries that the kit knows, and how an adapter is found by name."""
