"""The report of a run on a device: results, and the parts that were not run with the reason."""

from __future__ import annotations

from typing import Any

from .stages import FAILED, NOT_RUN, PASSED, Stage

ALL_PASSED, SOMETHING_FAILED, NOTHING_RUN, IN_PART = 0, 1, 3, 4  # 2: usage error


def exit_status(stages: list[Stage], not_run: dict[str, str]) -> int:
    if any(stage.status == FAILED for stage in stages):
        return SOMETHING_FAILED
    if all(stage.status == NOT_RUN for stage in stages):
        return NOTHING_RUN
    return IN_PART if not_run else ALL_PASSED


def heading(record: dict[str, Any]) -> str:
    gpu, machine = record["gpu"], record["machine"]
    return (
        f"refarray {record['versions']['refarray']} ({record['id']}) on {gpu['device']}, driver "
        f"{gpu['driver']} (CUDA {gpu['cuda_of_the_driver']}), Python {machine['python']}, "
        f"{machine['cpu']}; {record['date']} {record['time']} UTC"
    )


def stage_lines(stages: list[Stage], simulated: bool) -> list[str]:
    width = max(len(stage.name) for stage in stages)
    lines = []
    for stage in stages:
        counts = ", ".join(f"{value} {name}" for name, value in stage.counts.items() if value)
        detail = stage.detail if stage.status == NOT_RUN else counts or stage.detail
        where = " on the simulated driver" if simulated and stage.status != NOT_RUN else ""
        text = f"{stage.name:<{width}}  {stage.status}{where}  {detail}".rstrip()
        lines.append(f"{text}, {stage.seconds:.0f} s" if stage.status == PASSED else text)
    return lines


def table(rows: list[dict[str, Any]]) -> str:
    """Formats the rows as a Markdown table."""
    lines = ["| id | case | refarray | unit | target | | others |", "| --- " * 7 + "|"]
    for row in rows:
        if "ours" not in row:
            calls = row.get("driver_calls")
            said = "ran" if calls is None else f"ran, {calls:g} driver calls"
            lines.append(f"| {row['id']} | {row['title']} | {said} | | | | |")
            continue
        verdict = {True: "met", False: "**missed**", None: ""}[row.get("met")]
        target = row.get("target") or ""
        others = [f"{name} {value:g}" for name, value in row.get("ratios", {}).items()
                  if name != "refarray"]  # fmt: skip
        if not others:
            others = [f"{name} {value:g} ns" for name, value in row["ns"].items()]
        rates = row.get("gb_per_s", {})
        others += [f"{rates[name]:g} GB/s: {name}" for name in ("refarray", "driver") if rates]
        others += [f"{name}: {why}" for name, why in row.get("refused", {}).items()]
        cells = (row["id"], row["title"], f"{row['ours']:g}", row["unit"], target, verdict,
                 ", ".join(others))  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def missed(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows if row.get("met") is False]


def failures(stages: list[Stage]) -> list[str]:
    return [f"== {stage.name}\n{stage.detail}" for stage in stages if stage.status == FAILED]


def closing(record: dict[str, Any], status: int) -> str:
    """The last lines: missed targets, parts not run, and the overall result."""
    rows = record["rows"]
    judged = [row for row in rows if row.get("met") is not None]
    lost = missed(rows)
    lines = []
    if judged:
        text = f"{len(judged) - len(lost)} of {len(judged)} targets were met"
        lines.append(text + (f"; missed: {', '.join(lost)}" if lost else ""))
    left, without = record["not_run"], record.get("without", {})
    lines += [f"not run, by --without: {name}: {why}" for name, why in without.items()]
    lines += [f"not run: {name}: {why}" for name, why in left.items()]
    text = {
        ALL_PASSED: "everything passed",
        SOMETHING_FAILED: "something failed",
        NOTHING_RUN: "nothing was run",
        IN_PART: "everything that was run passed",
    }[status]
    if left and status != NOTHING_RUN:
        text += f"; not run: {', '.join(left)}"
    if without:
        text += f"; given up by --without: {', '.join(without)}"
    lines.append(text)
    return "\n".join(lines)


def risks(record: dict[str, Any]) -> list[list[str]]:
    """Each risk that was looked at, what was expected of it, and what was seen."""
    return [list(risk) for stage in record["tests"].values() for risk in stage.get("risks", ())]


def risk_table(found: list[list[str]]) -> str:
    """Formats the risks as a Markdown table."""
    lines = ["| risk | expected | seen |", "| --- | --- | --- |"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in found])


def summary(record: dict[str, Any], raw: str) -> dict[str, Any]:
    """What the manual shows of a run, in the form of the other benchmarks' summaries."""
    machine, build, gpu = record["machine"], record["build"], record["gpu"]
    rows = [
        {
            key: row[key]
            for key in row
            if key not in ("kind", "nbytes") and row[key] not in (None, {})
        }
        for row in record["rows"]
    ]
    return {
        "group": "gpu",
        "commit": record["id"],
        "date": record["date"],
        "time": record["time"],
        "device": f"{gpu['device']} ({gpu.get('memory_bytes', 0) / 2**30:.0f} GiB)",
        "driver": gpu["driver"],
        "cpu": machine["cpu"],
        "cpus": machine["cpus"],
        "libc": machine["libc"],
        "python": f"CPython {machine['python']}",
        "build": f"{build['abi']}, {build['compiler']}",
        "isa": build.get("isa", "unknown"),
        "versions": [f"{name} {version}" for name, version in record["versions"].items()],
        "absent": [f"{name} ({why})" for name, why in record["absent"].items()],
        "load": record["load"],
        "raw": raw,
        "rows": rows,
        "risks": risks(record),
    }
