"""Messages of a child process to its parent: JSON objects, one a line. Both ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

Say = Callable[[dict[str, Any]], None]


def sayer(descriptor: int) -> Say:
    """A function that writes messages to a file descriptor. A copy of this process that a library
    has forked ends there: two processes must not answer."""
    own = os.getpid()

    def say(message: dict[str, Any]) -> None:
        if os.getpid() != own:
            os._exit(0)
        data = (json.dumps(message) + "\n").encode()
        while data:
            data = data[os.write(descriptor, data) :]

    return say


def start(script: str, request: dict[str, Any], **variables: str) -> subprocess.Popen[bytes]:
    """A process that runs a script, which calls answer() with a function of the request. The
    messages arrive on its standard output; `variables` are added to the environment."""
    return subprocess.Popen(
        [sys.executable, "-c", script, json.dumps(request)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **variables},
    )


def answer(
    work: Callable[[dict[str, Any], Say], None], describe: Callable[[BaseException], str]
) -> None:
    """The child's main function. An exception, also the SystemExit of a library's import, becomes
    the message {"broken": describe(exception)}."""
    say = sayer(os.dup(1))
    os.dup2(2, 1)  # keeps the output of the libraries out of the messages
    try:
        work(json.loads(sys.argv[1]), say)
    except BaseException as error:
        say({"broken": describe(error)})
    os._exit(0)
