"""`refarray include`: the folders of the C++ headers and of the packages that find them."""

from __future__ import annotations

import argparse
import sys

from refarray.commands import Subparsers


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "include", help="print the folder of the C++ headers, for a compiler's -I"
    )
    other = parser.add_mutually_exclusive_group()
    other.add_argument(
        "--cmake-dir", action="store_true", help="instead: for CMake's -Drefarray_DIR="
    )
    other.add_argument("--pkgconfig-dir", action="store_true", help="instead: for PKG_CONFIG_PATH")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from refarray import _build

    find = _build.get_include
    if arguments.cmake_dir:
        find = _build.get_cmake_dir
    elif arguments.pkgconfig_dir:
        find = _build.get_pkgconfig_dir
    try:
        print(find())
    except FileNotFoundError as error:
        print(f"refarray include: {error}", file=sys.stderr)
        return 1
    return 0
