"""Exchanges between every producer and every consumer."""
