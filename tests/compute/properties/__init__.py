"""Properties of the functions for random arrays of every layout."""
