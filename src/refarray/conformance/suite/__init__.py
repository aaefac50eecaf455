"""Owns the checks: each module enters its own when it is imported."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    *("producer.versions", "producer.dtypes", "producer.layouts", "producer.flags"),
    *("producer.copies", "producer.methods", "producer.streams", "producer.lifetime"),
    *("producer.combinations", "consumer.malformed", "consumer.negotiation", "consumer.capsules"),
    *("consumer.results", "exchange_api.table", "exchange_api.functions"),
    *("exchange_api.foreign_table", "producer.interpreter_exit", "producer.edges"),
    *("consumer.conduct", "pair.with_refarray"),
    *("producer.device_streams", "producer.device_memory", "consumer.device_memory"),
)


def load() -> None:
    """Enters every check."""
    for name in MODULES:
        import_module(f"{__name__}.{name}")
