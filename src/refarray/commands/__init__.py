"""The commands of the command line, one module each: add_to() adds its parser, run() executes it."""

from __future__ import annotations

import argparse
from typing import Protocol


class Subparsers(Protocol):
    """The part of the result of add_subparsers() that commands use; argparse's class is private."""

    def add_parser(
        self, name: str, *, help: str | None = None, description: str | None = None
    ) -> argparse.ArgumentParser:
        """Add the parser of a command."""
