"""The command line: `refarray` and `python -m refarray`."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from refarray import __version__
from refarray._terminal import suggestion
from refarray.commands import Usage

# Each command is a module in refarray.commands. Its add_to(subparsers) adds a parser whose default
# `run` is a function that returns the exit status.
COMMANDS = (
    *("check", "matrix", "trace", "explain", "list", "subjects", "diff", "history"),
    *("inspect", "doctor", "version", "include"),
)
EPILOG = """\
exit status: 0 success, 1 failure, 2 invalid arguments, 3 no complete result, 4 stale expectation;
130 interrupted, 141 the reader of the output closed it

examples:
  refarray inspect 'numpy.arange(6)[::2]'
  refarray inspect --json 'torch.eye(3)'
  refarray trace torch numpy
  refarray doctor
  c++ -I"$(refarray include)" ...
"""


class Parser(argparse.ArgumentParser):
    """Suggests a command for a misspelt one."""

    def error(self, message: str) -> NoReturn:
        found = re.search(r"argument COMMAND: invalid choice: '([^']*)'", message)
        super().error(message + (suggestion([found[1]], COMMANDS) if found else ""))


def make_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="refarray",
        description="Inspect, trace and test how array libraries exchange data through DLPack.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for name in COMMANDS:
        import_module(f"refarray.commands.{name}").add_to(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    try:
        parser = make_parser()
        if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
            import_module("argcomplete").autocomplete(parser)
        arguments = parser.parse_args(argv)
    except SystemExit as stop:  # raised by argparse for --help and invalid arguments
        return stop.code if isinstance(stop.code, int) else 2
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except Usage as error:
        print(f"refarray {arguments.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of the pipe has closed it, for example `head`
        # The interpreter flushes stdout at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except Exception:  # a bug; the interpreter's own status, 1, would read as a broken MUST
        traceback.print_exc()
        return 3
    return status


if __name__ == "__main__":
    sys.exit(main())
