"""Shared code of the plots; matplotlib is imported only to draw one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Colour-blind safe (Okabe and Ito); one colour per library on the whole page.
COLOURS = {
    "refarray": "#D55E00",
    "numpy": "#0072B2",
    "torch": "#CC79A7",
    "tvm_ffi": "#009E73",
    "jax": "#E69F00",
    "hptt": "#56B4E9",
    "target": "#222222",
    "other": "#888888",
}
DIGEST = re.compile(r"data sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Plot:
    """Plain data (what json can write) and the function that draws them on fresh axes."""

    data: Any
    draw: Callable[[Any, Any], None]
    size: tuple[float, float] = (9.0, 5.0)  # inches

    @property
    def digest(self) -> str:
        text = json.dumps(self.data, sort_keys=True)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()


def digest_in(path: Path) -> str | None:
    """The digest of the data that an SVG was drawn from."""
    match = DIGEST.search(path.read_text(encoding="utf-8"))
    return match[1] if match else None


def save(plot: Plot, path: Path) -> None:
    """Draws the plot as a reproducible SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    style = {"svg.hashsalt": "refarray", "svg.fonttype": "none", "font.size": 9.0}
    with mpl.rc_context(style):
        figure, axes = plt.subplots(figsize=plot.size, layout="constrained", facecolor="white")
        plot.draw(axes, plot.data)
        description = {"Date": None, "Description": f"data sha256:{plot.digest}"}
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata=description)
        plt.close(figure)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line.rstrip()}\n" for line in lines), encoding="utf-8")
