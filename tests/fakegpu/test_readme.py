"""The README's example runs and prints what the README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "fakegpu"


def test_readme_example_prints_what_the_readme_says() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    expected = re.search(r"It prints `([^`]*)`", text)
    assert code and expected
    done = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=PACKAGE, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected[1]
