"""`refarray include`: the folder of the C++ headers."""

from __future__ import annotations

import argparse
import sys

from refarray.commands import Subparsers


def add_to(subparsers: Subparsers) -> None:
    """Add the parser of the command."""
    parser = subparsers.add_parser(
        "include", help="print the folder of the C++ headers, for a compiler's -I"
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the folder."""
    from refarray._build import get_include

    try:
        print(get_include())
    except FileNotFoundError as error:
        print(f"refarray include: {error}", file=sys.stderr)
        return 1
    return 0
