"""Owns what other libraries are measured by: the requirements of the standards, as data."""
