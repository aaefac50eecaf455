"""The report formats: each module writes runs in one of them."""
