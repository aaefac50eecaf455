"""Watches one real exchange between a producer and a consumer and judges it."""
