#!/usr/bin/env python3
"""Writes docs/images/memory.svg, the picture of README.md and of the manual's first page.

`pictures.py --check` exits with 1 if the picture is not the one that refarray draws.
"""

from __future__ import annotations

import sys
from pathlib import Path

from generated_page import write_or_check

import refarray
from refarray._layout_picture.svg import svg

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "memory.svg"


def drawn() -> str:
    """Every other row of a float32 matrix, without its first column."""
    matrix = refarray.reshape(refarray.arange(16, dtype="float32"), (4, 4))
    picture = svg(refarray.inspect(matrix[::2, 1:]))
    # An image of its own has no colours of a page around it.
    cropped = picture.replace('viewBox="0 0 1080 ', 'viewBox="0 0 700 ')
    cropped = cropped.replace('width="1080"', 'width="700"', 1)
    return cropped.replace(
        'style="max-width:100%;height:auto"', 'style="background:#fff;color:#111"', 1
    )


if __name__ == "__main__":
    sys.exit(write_or_check(PICTURE, drawn() + "\n", sys.argv[1:]))
