#!/usr/bin/env python3
"""Executes examples/gallery.ipynb by nbclient and stores its outputs, which docs/gallery.md shows.

`notebook.py --check` exits with 1 if the outputs that are stored are not those of the execution;
addresses and times may differ.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "gallery.ipynb"
VARYING = re.compile(r"0x[0-9a-f]+|aligned to \d+ bytes")
TIMES = re.compile(r"\d+(\.\d+)+|\s+")  # and versions, and the widths that depend on them


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return found


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with new outputs, without what depends on the machine."""
    import nbformat
    from nbclient import NotebookClient

    node = nbformat.reads(json.dumps(notebook), as_version=4)
    client = NotebookClient(node, timeout=120, kernel_name="python3", coalesce_streams=True)
    client.execute()
    made: dict[str, Any] = json.loads(nbformat.writes(node))
    made["metadata"] = notebook["metadata"]
    for cell in made["cells"]:
        cell["metadata"] = {}
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output["data"].pop("image/svg+xml", None)  # the HTML has it
    return made


def stable(notebook: dict[str, Any]) -> list[str]:
    """The outputs of each cell, as they are on every machine."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            shown = json.dumps(output.get("data", ""), sort_keys=True)
            printed = TIMES.sub(" ", "".join(output.get("text", [])))
            found.append(VARYING.sub("", shown + printed))
    return found


def main(arguments: list[str]) -> int:
    before = read()
    after = executed(before)
    if stable(before) == stable(after):
        return 0
    if arguments == ["--check"]:
        print(f"{NOTEBOOK.name} is out of date: run python tools/docs/notebook.py")
        return 1
    NOTEBOOK.write_text(json.dumps(after, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {NOTEBOOK}")
    return 0


def rendered() -> str:
    """The notebook in Markdown: its text, its code, and its outputs as a browser shows them."""
    parts = []
    for cell in read()["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```ipython3\n{text}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                shown = f'<div class="notebook-output">{"".join(data["text/html"])}</div>'
                parts.append(f"```{{raw}} html\n{shown}\n```")
            else:
                plain = "".join(output.get("text", data.get("text/plain", [])))
                parts.append(f"```text\n{plain.rstrip()}\n```")
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
