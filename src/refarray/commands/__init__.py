"""The commands, one module each: add_to() adds the parser, run() executes the command."""

from __future__ import annotations

import argparse
from typing import Protocol


class Usage(Exception):
    """The arguments are wrong; the message says how. main() prints it and returns 2."""


class Subparsers(Protocol):
    """The part of the result of add_subparsers() that commands use; argparse's class is private."""

    def add_parser(
        self, name: str, *, help: str | None = None, description: str | None = None
    ) -> argparse.ArgumentParser:
        """Add the parser of a command."""
