"""Renders the summaries in docs/records/bench: the tables and plots of docs/benchmarks.md, which
Sphinx fills in, and the figures that `make bench` prints."""

from __future__ import annotations

import functools
import importlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import budget
from .environment import records
from .measure import OURS, UNIT, Case

SUMMARIES = records.SUMMARIES / "bench"
GROUPS = ("exchange", "copies", "ops", "growth", "shared", "footprint", "threads", "abi")
#: Contenders with a column; the others share one.
COLUMNS = {
    "exchange": (OURS,),
    "copies": (OURS, "numpy", "torch", "hptt"),
    "ops": (OURS, "numpy", "torch", "array_api_strict"),
    "growth": (OURS, "numpy", "torch"),
    "shared": (OURS, "SharedMemory", "torch"),
    "footprint": (OURS,),
    "threads": (OURS, "by wall time", "one thread, ns"),
    "abi": ("time", "least", "most", "instructions"),
}
# Colour-blind safe (Okabe and Ito); one colour per library on the whole page.
COLOURS = {
    OURS: "#D55E00",
    "numpy": "#0072B2",
    "torch": "#CC79A7",
    "tvm_ffi": "#009E73",
    "jax": "#E69F00",
    "hptt": "#56B4E9",
    "target": "#222222",
    "another case": "#888888",
}
LEAD = {"A1": "refarray's own array", "A4": "a PyTorch tensor", "A5": "a NumPy array"}
Figures = dict[str, dict[str, float]]


@functools.cache
def cases(group: str) -> list[Case]:
    return list(importlib.import_module(f".{group}", __package__).cases())


def slug(processor: str) -> str:
    """A processor's name as part of a file name."""
    return "-".join(re.findall(r"[a-z0-9]+", processor.lower().replace("(r)", "")))


def folded(figures: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Figures for a file: a line for each family of ids, with a list for each contender."""
    families: dict[str, Figures] = {}
    for id_, found in figures.items():
        words = id_.split()
        cut = max(1, min(2, len(words) - 1))
        of = families.setdefault(" ".join(words[:cut]), {})
        of[" ".join(words[cut:])] = dict(found)
    kept = {}
    for family, of in families.items():
        names = dict.fromkeys(name for row in of.values() for name in row)
        columns = {name: [row.get(name, math.nan) for row in of.values()] for name in names}
        kept[family] = {"of": list(of), **columns}
    return kept


def unfolded(kept: Mapping[str, Any]) -> Figures:
    found: Figures = {}
    for family, columns in kept.items():
        for number, variant in enumerate(columns["of"]):
            row = {name: of[number] for name, of in columns.items() if name != "of"}
            known = {name: value for name, value in row.items() if not math.isnan(value)}
            found[f"{family} {variant}".strip()] = known
    return found


def summaries(group: str) -> list[dict[str, Any]]:
    """The summaries of a group, one for each processor, the newest last."""
    found = [records.read(path) for path in SUMMARIES.glob(f"{group}-*.toml")]
    for each in found:
        each["figures"] = unfolded(each.get("figures", {}))
    return sorted(found, key=lambda each: (each["date"], each["time"]))


def figure(value: float) -> str:
    if value < 0.095 and value != 0:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def code(text: str) -> str:
    """Names of functions as code, because Markdown reads underscores as emphasis."""
    words = text.split(" ")
    return " ".join(f"`{word}`" if "__" in word and "`" not in word else word for word in words)


def verdicts(case: Case, figures: Mapping[str, float]) -> str:
    words = {True: "met", False: "**missed**", None: "not measured"}
    return "; ".join(f"{code(one.describe())}: {words[one.met(figures)]}" for one in case.targets)


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    cells = [header, ["---"] * len(header), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def rows(group: str, figures: Figures) -> str:
    """The table of a group."""
    of = shown(group, figures)
    columns = [name for name in COLUMNS[group] if any(name in figures[case.id] for case in of)]
    has_units = len({case.label for case in of}) > 1
    lines = []
    for case in of:
        found = figures[case.id]
        cells = [figure(found[name]) if name in found else "-" for name in columns]
        others = [f"{code(n)} {figure(v)}" for n, v in found.items() if n not in COLUMNS[group]]
        title = f"`{case.title}`" if "(" in case.title or "__" in case.title else case.title
        unit = [case.label] if has_units else []
        line = [case.id, title, *cells, ", ".join(others), *unit, verdicts(case, found)]
        lines.append(line)
    header = ["id", "case", *columns, "others", *(["unit"] if has_units else []), "target"]
    place = 2 + len(columns)
    if not any(line[place] for line in lines):
        for line in [header, *lines]:
            del line[place]
    return table(header, lines)


def shown(group: str, figures: Figures) -> list[Case]:
    """The cases with a line in the table; transposes of growing size are only plotted."""
    return [case for case in cases(group) if case.id in figures and not case.id.startswith("S ")]


def origin(summary: Mapping[str, Any]) -> str:
    """The origin of the figures: date, machine, versions."""
    before, after = summary["load"]
    absent = "".join(f"; without {each}" for each in summary["absent"])
    return (
        f"Recorded {summary['date']} at `{summary['commit']}`: {summary['python']} "
        f"({summary['build']}), {', '.join(summary['versions'])}{absent}; {summary['cpu']}, "
        f"{summary['cpus']} cpus, {summary['libc']}, kernels for {summary['isa']}, load {before} "
        f"before and {after} after."
    )


def imports(found: Mapping[str, float]) -> dict[str, float]:
    """The imports by other libraries in a row of the exchange."""
    return {name: value for name, value in found.items() if "from_dlpack" in name}


def lead(summary: Mapping[str, Any]) -> str:
    """One sentence: the time of refarray's imports relative to the fastest other library's."""
    parts = []
    for id_, what in LEAD.items():
        found = summary["figures"].get(id_, {})
        if not imports(found):
            continue
        name, least = min(imports(found).items(), key=lambda each: each[1])
        parts.append(f"{what} {found[OURS] / least:.2f} (`{name.partition('(')[0]}`)")
    words = f"**Time of an import relative to the fastest other library: {', '.join(parts)}.**"
    return f"{words} U is {summary['unit_ns']:.1f} ns here."


def section(group: str, images: Path) -> str:
    """A group's newest summary: where it is from, its plot, and its table."""
    summary = summaries(group)[-1]
    parts = [origin(summary), rows(group, summary["figures"])]
    if group == "exchange":
        parts.insert(0, lead(summary))
    if group in PLOTS:
        alt = f"Figures of {group} by library, with the targets"
        name = f"bench-{group}.svg"
        plot(images / name, PLOTS[group], summary["figures"])
        parts.insert(-1, f"![{alt}](_build/images/{name})")
    return "\n\n".join(parts)


def processors() -> str:
    """Exchanges, copies and computations by processor: the newest summary of each side by side."""
    titles = {
        "exchange": "In U; in parentheses, relative to the fastest import of another library.",
        "copies": "Relative to memcpy; in parentheses, to the faster of NumPy and PyTorch.",
        "ops": "In the unit of the row, as above.",
    }
    parts = []
    for group, unit in titles.items():
        found = summaries(group)
        lines = []
        for case in shown(group, found[-1]["figures"]):
            cells = [relative(group, each["figures"].get(case.id, {})) for each in found]
            lines.append([case.id, f"`{case.title}`", *cells])
        header = ["id", "case", *(f"{each['cpu']}, {each['date']}" for each in found)]
        parts.append(f"### {group.capitalize()} by processor\n\n{unit}\n\n{table(header, lines)}")
    return "\n".join(parts)


def relative(group: str, found: Mapping[str, float]) -> str:
    """Ours, and relative to the fastest other library where that is of interest."""
    if OURS not in found:
        return "-"
    ours, peers = figure(found[OURS]), {}
    if group == "exchange":
        peers = imports(found)
    elif group == "copies":
        peers = {name: found[name] for name in ("numpy", "torch") if name in found}
    return f"{ours} ({found[OURS] / min(peers.values()):.2f})" if peers else ours


def counts() -> str:
    """Instructions per call: the budget of `make bench-check`."""
    builds = json.loads(budget.BUDGET.read_text(encoding="utf-8"))
    of = [build["instructions"] for build in builds.values()]
    lines = []
    for id_ in sorted({id_ for each in of for id_ in each}, key=budget.order):
        cells = [f"{n[id_]:.0f} ({n[id_] / n[UNIT]:.2f})" if id_ in n else "-" for n in of]
        lines.append([id_, *cells])
    facts = [
        f"- {abi}: {', '.join(f'{name} {value}' for name, value in build['versions'].items())}\n"
        for abi, build in builds.items()
    ]
    return f"{''.join(facts)}\n{table(('case', *builds), lines)}"


def devices() -> str:
    """Measurements on each device, and the risks that were looked at on the last one."""
    from .gpu import report

    found = summaries("gpu")[::-1]
    parts = [
        f"### {each['device']}\n\nDriver {each['driver']}. {origin(each)}\n\n"
        f"{report.table(each['rows'])}"
        for each in found
    ]
    intro = f"### Risks\n\nThe greatest of the GPU layer, as seen on the {found[0]['device']}:"
    return "\n\n".join([*parts, intro, report.risk_table(found[0]["risks"])])


def rendered(part: str, images: Path) -> str:
    """A part of docs/benchmarks.md by its name."""
    alone = {"processors": processors, "counts": counts, "devices": devices}
    return alone[part]() if part in alone else section(part, images)


# --- plots


def library(name: str) -> str:
    """The partner that a contender's name begins with."""
    found = name.split(".")[0].removesuffix("(own)")
    found = "numpy" if found == "np" else found
    return found if found in COLOURS else "another case"


def dots(axes: Any, group: str, figures: Figures, of: list[Case]) -> None:
    """One line per case on a logarithmic axis: each library, and a bar at the target."""
    handles: dict[str, Any] = {}
    for place, case in enumerate(of):
        for name, value in figures[case.id].items():
            ours, key = name == OURS, library(name)
            style = {"s": 40, "marker": "D", "zorder": 3} if ours else {"s": 26, "zorder": 2}
            handles[key] = axes.scatter(value, place, color=COLOURS[key], **style)
        limits = [found for one in case.targets if (found := one.at(figures[case.id])) is not None]
        if limits:
            style = {"s": 150, "marker": "|", "zorder": 4}
            handles["target"] = axes.scatter(min(limits), place, color=COLOURS["target"], **style)
    names = [f"{case.id}  {case.title}" if group == "exchange" else case.id for case in of]
    axes.set_yticks(range(len(of)), names, fontsize=9 if group == "exchange" else 6.5)
    axes.set_ylim(len(of) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    order = [name for name in COLOURS if name in handles]
    above = {"loc": "outside upper center", "ncols": len(order)}
    axes.figure.legend([handles[name] for name in order], order, **above)


def exchange_plot(axes: Any, figures: Figures) -> int:
    """The shape variants of A1 to A5 are only in the table. Returns the number of lines."""
    variant = re.compile("A[1-5] ")
    of = [case for case in shown("exchange", figures) if not variant.match(case.id)]
    dots(axes, "exchange", figures, of)
    axes.set_xlabel("U: one no-op call of a C function, loop included")
    return len(of)


def ops_plot(axes: Any, figures: Figures) -> int:
    of = [case for case in shown("ops", figures) if case.label == "P"]
    dots(axes, "ops", figures, of)
    axes.axvline(1, color=COLOURS["another case"], lw=0.6)
    axes.set_xlabel("time relative to the better of NumPy and PyTorch (less is faster)")
    return len(of) // 2


def copies_plot(axes: Any, figures: Figures) -> int:
    """The ratio to memcpy against the size of a square transpose."""
    series: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for id_, found in figures.items():
        if id_.startswith("S "):
            _, kind, size = id_.split()
            nbytes = int(size) ** 2 * (4 if kind == "f32" else 1)
            for name, ratio in found.items():
                series.setdefault((kind, name), []).append((nbytes, ratio))
    for (kind, name), found in series.items():
        style, label = ("-", "float32") if kind == "f32" else ("--", "uint8")
        sizes, ratios = zip(*sorted(found), strict=True)
        axes.plot(sizes, ratios, style, marker=".", color=COLOURS[name], label=f"{name}, {label}")
    axes.axhline(1.0, color=COLOURS["target"], linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes of a square transpose")
    axes.set_ylabel("time / memcpy's")
    axes.legend(ncols=2, fontsize=8)
    return 9


LINES = {"add": "-", "exp": "--", "sum": ":", "sort": "-.", "max": (0, (1, 1)), "fft": (0, (5, 1))}


def growth_plot(axes: Any, figures: Figures) -> int:
    """A plot for each question, with a line for each library and function."""
    from .growth import QUESTIONS

    picture = axes.figure
    axes.remove()
    for place, (question, label) in enumerate(QUESTIONS.items(), 1):
        part = picture.add_subplot(2, 2, place)
        series: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for id_, found in figures.items():
            of, name, count = id_.split()
            for by, ns in found.items() if of == f"G{question}" else ():
                series.setdefault((by, name), []).append((int(count), ns))
        for (by, name), points in series.items():
            style = {"color": COLOURS[by], "linestyle": LINES[name], "label": f"{by} {name}"}
            part.plot(*zip(*points, strict=True), marker=".", linewidth=1, **style)
        part.set_xscale("log", base=10 if question == "size" else 2)
        part.set_yscale("log")
        part.set_xlabel(label)
        part.set_ylabel("ns per element")
        part.legend(fontsize=6, ncols=2)
    return 22


PLOTS = {"exchange": exchange_plot, "copies": copies_plot, "ops": ops_plot, "growth": growth_plot}


def plot(path: Path, draw: Callable[[Any, Figures], int], figures: Figures) -> None:
    """Draws an SVG; only this needs matplotlib."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "refarray", "svg.fonttype": "none", "font.size": 9.0}):
        shape, axes = plt.subplots(layout="constrained", facecolor="white")
        shape.set_size_inches(9.0, 0.36 * draw(axes, figures) + 1.2)
        path.parent.mkdir(parents=True, exist_ok=True)
        shape.savefig(path, format="svg", metadata={"Date": None})
        plt.close(shape)
