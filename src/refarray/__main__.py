"""The command line: `refarray` and `python -m refarray`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

# Each command is a module in refarray.commands. Its add_to(subparsers) adds a parser whose default
# `run` is a function that returns the exit status.
COMMANDS = (
    *("check", "matrix", "trace", "explain", "list", "diff"),
    *("inspect", "doctor", "version", "include"),
)
EPILOG = """\
exit status: 0 success, 1 failure, 2 invalid arguments, unless a command's help says otherwise

examples:
  refarray inspect 'numpy.arange(6)[::2]'
  refarray inspect --json 'torch.eye(3)'
  refarray trace torch numpy
  refarray doctor
  c++ -I"$(refarray include)" ...
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="refarray",
        description="Inspect, trace and test how array libraries exchange data through DLPack.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"refarray.commands.{name}").add_to(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    try:
        arguments = make_parser().parse_args(argv)
    except SystemExit as stop:  # raised by argparse for --help and invalid arguments
        return stop.code if isinstance(stop.code, int) else 2
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the pipe has closed it, for example `head`
        # The interpreter flushes stdout at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
