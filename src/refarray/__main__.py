"""Owns the command line: `refarray` and `python -m refarray`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

# Each is a module of refarray.commands with add_to(subparsers); its parser sets `run`, which
# returns the exit status.
COMMANDS = (
    *("check", "matrix", "trace", "explain", "list", "diff"),
    *("inspect", "doctor", "version", "include"),
)
EPILOG = """\
exit status: 0 all is well, 1 failure, 2 wrong usage

examples:
  refarray inspect 'numpy.arange(6)[::2]'
  refarray inspect --json 'torch.eye(3)'
  refarray trace torch numpy
  refarray doctor
  c++ -I"$(refarray include)" ...
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser of every command."""
    parser = argparse.ArgumentParser(
        prog="refarray",
        description="The reference array for data interchange: look at what libraries exchange.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"refarray.commands.{name}").add_to(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. Returns 0 when all is well, 1 for a failure, 2 for wrong usage."""
    try:
        arguments = make_parser().parse_args(argv)
    except SystemExit as stop:  # how argparse ends, for --help and for mistakes
        return stop.code if isinstance(stop.code, int) else 2
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe, `head` for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
