"""The HTML reports in a real browser: filter, anchors, copy buttons, dark mode, no script errors.

Needs Chromium: `chromium`, `chromium-browser` or `google-chrome` in PATH, or the executable that
the environment variable CHROMIUM names; without it the tests are skipped."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import refarray as ra
from refarray._layout_picture.page import page as picture
from refarray.conformance import Finding, Outcome
from refarray.conformance.findings import Run
from refarray.conformance.harness.exchange import Arrival, Exchange
from refarray.conformance.matrix.measure import Cell
from refarray.conformance.report import grid, html
from refarray.conformance.requirements import Role, requirement

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), "")
pytestmark = [
    pytest.mark.not_repeated,
    pytest.mark.skipif(not CHROMIUM, reason="needs Chromium"),
    pytest.mark.not_sanitized("a browser does not start with a preloaded ASAN runtime"),
]

PROBE = """
<script>
addEventListener("error", event => console.error(event.message));
const result = {{}};
{body}
const out = document.createElement("pre");
Promise.resolve(result.wait).then(() => {{
  delete result.wait;
  out.id = "result"; out.textContent = JSON.stringify(result); document.body.append(out);
}});
</script></body>"""


def opened(tmp_path: Path, page: str, body: str, fragment: str = "", dark: bool = False) -> Any:
    """Opens a page and returns the object `result` that the JavaScript `body` fills, which runs
    after the page's own script."""
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", PROBE.format(body=body)), encoding="utf-8")
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    done = subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
            *("--v=0", f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000"),
            *(*scheme, "--dump-dom", f"{path.as_uri()}{fragment}"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not console
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    return json.loads(unescape(found[1]))


@pytest.fixture(scope="module")
def report() -> str:
    """A report with two findings of each outcome."""
    ends = {
        "VERS-01": Outcome.FAIL,
        "TENS-09": Outcome.CRASH,
        "TENS-03": Outcome.WARN,
        "CONS-01": Outcome.INFO,
        "LIFE-06": Outcome.PASS,
        "TENS-11": Outcome.NOT_APPLICABLE,
    }
    findings = [
        Finding(
            name,
            requirement(name).level,
            "lib",
            "1.0",
            Role.PRODUCER,
            case,
            outcome,
            "an <expectation>",
            "an 'observation' & more",
            "import lib\nprint(1 < 2)",
        )
        for name, outcome in ends.items()
        for case in ("first", "second")
    ]
    return html.text([Run("lib", "1.0", findings=findings)])


COUNT = "result.shown = [...document.querySelectorAll('details[data-outcome]')]"
COUNT += ".filter(each => each.offsetParent !== null && !each.hidden).map(each => each.id);"


def test_only_failures_are_shown_at_first_and_musts_lead(report: str, tmp_path: Path) -> None:
    result = opened(tmp_path, report, COUNT)
    assert result["shown"] == ["lib-VERS-01", "lib-TENS-09", "lib-TENS-03", "lib-CONS-01"]


def test_the_filter(report: str, tmp_path: Path) -> None:
    typed = """
    const field = document.querySelector("nav input[type=search]");
    field.value = "tens SECOND"; field.dispatchEvent(new Event("input"));
    """
    result = opened(tmp_path, report, f"{typed}{COUNT}result.text = shownCount.textContent;")
    assert result == {"shown": ["lib-TENS-09", "lib-TENS-03"], "text": "2 of 6 shown"}
    ticked = """
    for (const box of document.querySelectorAll("nav input[type=checkbox]")) {
      box.checked = box.value === "pass"; box.dispatchEvent(new Event("change"));
    }
    """
    assert opened(tmp_path, report, ticked + COUNT) == {"shown": ["lib-LIFE-06"]}


def test_an_anchor_opens_its_requirement_even_if_it_is_filtered(
    report: str, tmp_path: Path
) -> None:
    body = """
    const row = document.getElementById("lib-LIFE-06");
    result.open = row.open; result.hidden = row.hidden;
    """
    result = opened(tmp_path, report, body, "#lib-LIFE-06")
    assert result == {"open": True, "hidden": False}
    assert opened(tmp_path, report, body) == {"open": False, "hidden": True}


def test_the_copy_button_copies_or_selects_the_repro(report: str, tmp_path: Path) -> None:
    body = """
    document.getElementById("open").click();
    const button = document.querySelector(".repro button");
    button.click();
    result.wait = new Promise(done => setTimeout(done, 500)).then(() => {
      result.text = button.textContent;
      result.selected = getSelection().toString();
      result.lines = button.nextElementSibling.textContent;
    });
    """
    result = opened(tmp_path, report, body)
    assert result["lines"] == "import lib\nprint(1 < 2)"
    assert result["text"] in {"copied", "selected"}
    assert result["text"] == "copied" or result["selected"].strip() == result["lines"]


def test_open_all_and_close_all(report: str, tmp_path: Path) -> None:
    body = """
    const button = document.getElementById("open");
    const opened = () => rows.filter(row => row.open).length;
    result.counts = [opened()];
    button.click(); result.counts.push(opened());
    button.click(); result.counts.push(opened());
    """
    assert opened(tmp_path, report, body) == {"counts": [0, 6, 0]}


CONTRAST = """
const light = name => {
  const parts = name.match(/[0-9.]+/g).slice(0, 3).map(each => {
    const part = each / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const back = light(getComputedStyle(document.body).backgroundColor);
result.back = back;
const texts = document.querySelectorAll("p, .outcome, .level, .count, .seen, a");
result.contrast = [...texts].map(each => {
  const front = light(getComputedStyle(each).color);
  return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
});
"""


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_are_readable(report: str, tmp_path: Path, dark: bool) -> None:
    result = opened(tmp_path, report, CONTRAST, dark=dark)
    assert (result["back"] < 0.1) is dark
    assert len(result["contrast"]) > 20 and min(result["contrast"]) >= 4.5  # WCAG AA


def test_matrix_cells_link_to_their_pairs(tmp_path: Path) -> None:
    exchanges = [Exchange("a", "b", what, what, "seen", "import a") for what in Arrival]
    cells = [[Cell("a", "a", ("1", "1"), exchanges[:1]), Cell("a", "b", ("1", "2"), exchanges)]]
    page = grid.page(cells)
    body = """
    const link = document.querySelector("table.matrix a[href='#a-b']");
    result.text = link.textContent;
    link.click();
    result.wait = new Promise(done => setTimeout(done, 500)).then(() => {
      result.open = document.getElementById("a-b").open;
    });
    """
    result = opened(tmp_path, page, body)
    assert result == {"text": cells[0][1].text, "open": True}


def test_the_picture_of_a_layout_fits_its_page(tmp_path: Path) -> None:
    page = picture(ra.inspect(ra.zeros((300, 200), dtype="float32")[::2, ::3]))
    body = """
    const svg = document.querySelector("svg").getBoundingClientRect();
    const inside = [...document.querySelectorAll("svg rect, svg text")].filter(each => {
      const box = each.getBoundingClientRect();
      return box.left >= svg.left - 1 && box.right <= svg.right + 1 && box.bottom <= svg.bottom + 1;
    });
    result.outside = document.querySelectorAll("svg rect, svg text").length - inside.length;
    result.wide = document.documentElement.scrollWidth <= innerWidth;
    """
    assert opened(tmp_path, page, body) == {"outside": 0, "wide": True}
