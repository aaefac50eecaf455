"""Fills in what pages show of the summaries in docs/records and of the notebook, in the place of
each line that ends with a mark: `<!-- rendered: findings -->`. What stands before it is for readers
of the source."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "tools" / "docs"), str(ROOT / "tools" / "findings")]
MARK = re.compile(r"^.*<!-- rendered: (\w+) ?(.*?) -->$", re.MULTILINE)


def fill(text: str, images: Path) -> str:
    """The text of a page with its tables; plots are drawn into `images`."""

    def part(found: re.Match[str]) -> str:
        if found[1] == "findings":
            import findings_page

            return findings_page.rendered(found[2])
        if found[1] == "calls":
            import calls_page

            return calls_page.rendered(found[2])
        if found[1] == "notebook":
            import notebook

            return notebook.rendered()
        from benchmarks import page

        return page.rendered(found[2], images)

    return MARK.sub(part, text)
