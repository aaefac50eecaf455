"""Owns `refarray trace`."""

from __future__ import annotations

import argparse
import json
import sys

from refarray.commands import Subparsers

DESCRIPTION = """\
Send one array from PRODUCER to CONSUMER and print what happened, in its order: who called what with
which keywords, the capsule's name before and after, when and in which thread the deleter ran; then
what that says of the requirements. Both are names as `refarray check` takes them. The exit status
is 1 when a MUST was broken, data arrived wrong or the process died, 3 when there was no exchange.
"""


def add_to(subparsers: Subparsers) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "trace", help="show one exchange, call by call", description=DESCRIPTION
    )
    parser.add_argument("producer", metavar="PRODUCER")
    parser.add_argument("consumer", metavar="CONSUMER")
    parser.add_argument(
        "--array",
        metavar="KIND",
        default="plain",
        help="strided, readonly, empty … or an expression, such as 'torch.eye(3)[1]'",
    )
    parser.add_argument(
        "--copy", choices=["true", "false"], help="what is passed to from_dlpack; default: nothing"
    )
    parser.add_argument(
        "--methods",
        action="store_true",
        help="offer no C exchange table, so that the consumer comes by the methods",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the timeline and the verdicts."""
    from refarray.conformance.live_validator.trace import trace

    keywords = {} if arguments.copy is None else {"copy": arguments.copy == "true"}
    names = (arguments.producer, arguments.consumer, arguments.array)
    seen = trace(*names, table=not arguments.methods, **keywords)
    if seen.broken:
        print(f"refarray trace: {seen.broken}", file=sys.stderr)
        return 3
    print(json.dumps(seen.to_dict(), indent=1) if arguments.json else seen)
    return 1 if seen.failed else 0
