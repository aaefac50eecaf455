"""The HTML reports in a real browser: filter, anchors, copy buttons, dark mode, no script errors.

Runs where a Chromium is, found as `chromium`, `chromium-browser` or `google-chrome`, or named by
CHROMIUM; elsewhere it is skipped, and says so."""

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
from refarray._picture_page import page as picture
from refarray.conformance import Finding, Outcome
from refarray.conformance.matrix.exchange import Arrival, Exchange
from refarray.conformance.matrix.grid import Cell
from refarray.conformance.report import grid, html
from refarray.conformance.requirements import Role, requirement
from refarray.conformance.runner.engine import Run

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), "")
pytestmark = [
    pytest.mark.skipif(
        not CHROMIUM, reason="there is no Chromium here to look at the reports with"
    ),
    pytest.mark.not_sanitized("a browser does not start with another's ASAN preloaded"),
]

PROBE = """
<script>
addEventListener("error", event => console.error(event.message));
const told = {{}};
{body}
const out = document.createElement("pre");
Promise.resolve(told.wait).then(() => {{
  delete told.wait;
  out.id = "told"; out.textContent = JSON.stringify(told); document.body.append(out);
}});
</script></body>"""


def opened(tmp_path: Path, page: str, body: str, fragment: str = "", dark: bool = False) -> Any:
    """What a script that is added to a page tells, once the page's own has run."""
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
    found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    return json.loads(unescape(found[1]))


@pytest.fixture(scope="module")
def report() -> str:
    """A page on findings of every outcome."""
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


COUNT = "told.shown = [...document.querySelectorAll('details[data-outcome]')]"
COUNT += ".filter(each => each.offsetParent !== null && !each.hidden).map(each => each.id);"


def test_the_first_look_shows_what_is_wrong_and_the_musts_first(
    report: str, tmp_path: Path
) -> None:
    told = opened(tmp_path, report, COUNT)
    assert told["shown"] == ["lib-VERS-01", "lib-TENS-09", "lib-TENS-03", "lib-CONS-01"]


def test_the_filter(report: str, tmp_path: Path) -> None:
    typed = """
    const field = document.querySelector("nav input[type=search]");
    field.value = "tens SECOND"; field.dispatchEvent(new Event("input"));
    """
    told = opened(tmp_path, report, f"{typed}{COUNT}told.said = shownCount.textContent;")
    assert told == {"shown": ["lib-TENS-09", "lib-TENS-03"], "said": "2 of 6 shown"}
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
    told.open = row.open; told.hidden = row.hidden;
    """
    told = opened(tmp_path, report, body, "#lib-LIFE-06")
    assert told == {"open": True, "hidden": False}
    assert opened(tmp_path, report, body) == {"open": False, "hidden": True}


def test_the_copy_button_copies_or_selects_the_repro(report: str, tmp_path: Path) -> None:
    body = """
    document.getElementById("open").click();
    const button = document.querySelector(".repro button");
    button.click();
    told.wait = new Promise(done => setTimeout(done, 500)).then(() => {
      told.text = button.textContent;
      told.selected = getSelection().toString();
      told.lines = button.nextElementSibling.textContent;
    });
    """
    told = opened(tmp_path, report, body)
    assert told["lines"] == "import lib\nprint(1 < 2)"
    assert told["text"] in {"copied", "selected"}
    assert told["text"] == "copied" or told["selected"].strip() == told["lines"]


def test_open_all_and_close_all(report: str, tmp_path: Path) -> None:
    body = """
    const button = document.getElementById("open");
    const opened = () => rows.filter(row => row.open).length;
    told.counts = [opened()];
    button.click(); told.counts.push(opened());
    button.click(); told.counts.push(opened());
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
told.back = back;
const texts = document.querySelectorAll("p, .outcome, .level, .count, .seen, a");
told.contrast = [...texts].map(each => {
  const front = light(getComputedStyle(each).color);
  return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
});
"""


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_are_readable(report: str, tmp_path: Path, dark: bool) -> None:
    told = opened(tmp_path, report, CONTRAST, dark=dark)
    assert (told["back"] < 0.1) is dark
    assert len(told["contrast"]) > 20 and min(told["contrast"]) >= 4.5  # WCAG AA


def test_the_matrix_leads_to_its_pairs(tmp_path: Path) -> None:
    exchanges = [Exchange("a", "b", what, what, "seen", "import a") for what in Arrival]
    cells = [[Cell("a", "a", ("1", "1"), exchanges[:1]), Cell("a", "b", ("1", "2"), exchanges)]]
    page = grid.page(cells)
    body = """
    const link = document.querySelector("table.matrix a[href='#a-b']");
    told.text = link.textContent;
    link.click();
    told.wait = new Promise(done => setTimeout(done, 500)).then(() => {
      told.open = document.getElementById("a-b").open;
    });
    """
    told = opened(tmp_path, page, body)
    assert told == {"text": cells[0][1].text, "open": True}


def test_the_picture_of_a_layout_fits_its_page(tmp_path: Path) -> None:
    page = picture(ra.inspect(ra.zeros((300, 200), dtype="float32")[::2, ::3]))
    body = """
    const svg = document.querySelector("svg").getBoundingClientRect();
    const inside = [...document.querySelectorAll("svg rect, svg text")].filter(each => {
      const box = each.getBoundingClientRect();
      return box.left >= svg.left - 1 && box.right <= svg.right + 1 && box.bottom <= svg.bottom + 1;
    });
    told.outside = document.querySelectorAll("svg rect, svg text").length - inside.length;
    told.wide = document.documentElement.scrollWidth <= innerWidth;
    """
    assert opened(tmp_path, page, body) == {"outside": 0, "wide": True}
