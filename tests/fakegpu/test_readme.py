"""The README's example runs and prints what the README says."""

from __future__ import annotations

import re
from pathlib import Path

from helpers.processes import printed

PACKAGE = Path(__file__).resolve().parents[2] / "fakegpu"


def test_readme_example_prints_what_the_readme_says() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    expected = re.search(r"It prints `([^`]*)`", text)
    assert code and expected
    assert printed(code[1], PYTHONPATH=PACKAGE).strip() == expected[1]
