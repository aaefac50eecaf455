"""`refarray version`: the version."""

from __future__ import annotations

import argparse

from refarray.commands import Subparsers


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("version", help="print the version")
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    from refarray import __version__

    print(__version__)
    return 0
