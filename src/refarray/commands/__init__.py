"""Owns the commands: one module each, which adds its parser by add_to(subparsers) and runs."""

from __future__ import annotations

import argparse
from typing import Protocol


class Subparsers(Protocol):
    """What argparse's add_subparsers returns, as far as commands use it; its class is private."""

    def add_parser(
        self, name: str, *, help: str | None = None, description: str | None = None
    ) -> argparse.ArgumentParser:
        """A parser for one command."""
