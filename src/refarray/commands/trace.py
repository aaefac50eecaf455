"""`refarray trace`: the calls of one exchange."""

from __future__ import annotations

import argparse
import json
import sys

from refarray.commands import Subparsers

DESCRIPTION = """\
Export one array from PRODUCER, import it in CONSUMER, and print what happened in order: the calls
with their keywords, the name of the capsule before and after, when and in which thread the deleter
ran. Then print which requirements the exchange meets or violates. PRODUCER and CONSUMER are
subjects as in `refarray check`. Exit status: 1 if a MUST requirement is violated, data arrived
wrong or the process crashed; 3 if no exchange took place.
"""


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "trace", help="show the calls of one exchange", description=DESCRIPTION
    )
    parser.add_argument("producer", metavar="PRODUCER")
    parser.add_argument("consumer", metavar="CONSUMER")
    parser.add_argument(
        "--array",
        metavar="KIND",
        default="plain",
        help="an array of the kit (strided, readonly, empty, ...; default: plain) or an expression "
        "such as 'torch.eye(3)[1]'",
    )
    parser.add_argument(
        "--copy",
        choices=["true", "false"],
        help="the value of copy= for from_dlpack(); default: none",
    )
    parser.add_argument(
        "--methods",
        action="store_true",
        help="hide the C exchange API of the producer, so that the consumer calls __dlpack__()",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from refarray.conformance.live_validator.trace import trace

    keywords = {} if arguments.copy is None else {"copy": arguments.copy == "true"}
    names = (arguments.producer, arguments.consumer, arguments.array)
    seen = trace(*names, table=not arguments.methods, **keywords)
    if seen.broken:
        print(f"refarray trace: {seen.broken}", file=sys.stderr)
        return 3
    print(json.dumps(seen.to_dict(), indent=1) if arguments.json else seen)
    return 1 if seen.failed else 0
