"""Producers whose C exchange table mishandles streams: refarray's table with one function
replaced."""

from __future__ import annotations

from mutants.corrupting import Table
from mutants.exchange_table import add
from mutants.producer_devices import cuda

add(Table(__name__, cuda), {"from-synchronises": "CAPI-12", "stream-legacy": "CAPI-25"})
