"""Owns the reports: each module turns the same runs into one form."""
