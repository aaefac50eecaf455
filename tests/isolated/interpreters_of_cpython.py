"""New sub-interpreters: start() returns a function that runs code in one, with `close`."""

import sys
from collections.abc import Callable

if sys.version_info >= (3, 14):
    from concurrent import interpreters

    def start() -> Callable[[str], None]:
        interpreter = interpreters.create()

        def run(code: str) -> None:
            interpreter.exec(code)

        run.close = interpreter.close
        return run
else:
    if sys.version_info >= (3, 13):
        import _interpreters as native
    else:
        import _xxsubinterpreters as native

    def start() -> Callable[[str], None]:
        identity = native.create()

        def run(code: str) -> None:
            if sys.version_info >= (3, 13):
                failure = native.exec(identity, code)
                assert failure is None, failure
            else:
                native.run_string(identity, code)

        run.close = lambda: native.destroy(identity)
        return run
