"""Stands for a C++ compiler: `zig_compiler.py COMPILER... [--link LINKER...] -- ARGUMENTS`.

Modules for macOS (`-bundle`) are linked by LINKER: it gets what a linker understands, objects,
archives, the output, and options that a compiler would pass on (-Wl, and -Xlinker).
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterator


def arguments_of_linker(given: Iterator[str]) -> Iterator[str]:
    for each in given:
        if each == "-bundle" or each.endswith((".o", ".a")):
            yield each
        elif each.startswith("-Wl,"):
            yield from each.split(",")[1:]
        elif each == "-Xlinker":
            yield next(given)
        elif each == "-o":
            yield from (each, next(given))


def main(arguments: list[str]) -> None:
    end = arguments.index("--")
    commands, given = arguments[:end], arguments[end + 1 :]
    link = commands.index("--link") if "--link" in commands else len(commands)
    if "-bundle" in given:
        command = [*commands[link + 1 :], *arguments_of_linker(iter(given))]
    else:  # zig takes a dash for the beginning of a feature
        named = (re.sub(r"^-march=x86-64-v(\d)$", r"-march=x86_64_v\1", each) for each in given)
        command = [*commands[:link], *named]
        if "-fsyntax-only" in command:  # zig looks for an object all the same
            at = command.index("-fsyntax-only")
            command[at : at + 1] = ["-c", "-o", f"{tempfile.gettempdir()}/syntax-only.o"]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
