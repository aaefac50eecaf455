#!/usr/bin/env python3
"""Writes what follows from the rows of the array API's functions: stubs, protocols, and a
page of the manual.

usage: python tools/rows [--check]

--check writes nothing; it fails if a file is out of date, or if a row has no test. The rows are
read from the installed package.
"""

from __future__ import annotations

import sys

import protocols
import stubs
from rows import PAGE, modelled, page, rows, untested


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    found = rows()
    files = {stubs.STUB: stubs.text(found), PAGE: page(found)}
    files[protocols.FILE] = protocols.text(found)
    files |= stubs.extension_texts(found)
    if not arguments:
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
        return 0
    wrong = [
        f"{path.name} is out of date: run python tools/rows"
        for path, text in files.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    wrong += untested(found, modelled())
    print("\n".join([*wrong, f"{len(found)} rows, {len(wrong)} errors"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
