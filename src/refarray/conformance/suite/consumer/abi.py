"""ABI checks of a consumer: the enumerations and strides of the header (harness/corpus.py)."""

from __future__ import annotations

from refarray.conformance.suite.corpus_checks import register_corpus

register_corpus("ABI")
