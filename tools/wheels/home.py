"""The addresses of the project, and README.md as a package index shows it: all from `home` in
pyproject.toml, the only place that names the repository. The build calls `dynamic_metadata`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HOME = re.compile(r"https://github\.com/([\w-]+)/([\w.-]+)")
LINK = re.compile(r"(?<=\]\()(?!https?://|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
"""The path and the fragment of a relative link in Markdown."""


class Home(NamedTuple):
    repository: str
    manual: str
    """Where the workflow docs.yml publishes it; ends with a slash."""

    def file(self, path: str, version: str) -> str:
        """The address of a file of the repository, as it is in a release."""
        return f"{self.repository}/blob/v{version}/{path}"

    def absolute(self, path: str, version: str) -> str:
        """The address of what README.md links to: a page of the manual, its picture, or a file."""
        if page := re.fullmatch(r"docs/([^.]+)\.md", path):
            return f"{self.manual}{page[1]}.html"
        if picture := re.fullmatch(r"docs/images/(.+)", path):
            return f"{self.manual}_images/{picture[1]}"
        return self.file(path, version)


def read_home(repository: str | None = None) -> Home:
    """The addresses; without an argument those of pyproject.toml."""
    if repository is None:
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        (entry,) = settings["tool"]["dynamic-metadata"]
        repository = str(entry["home"])
    found = HOME.fullmatch(repository)
    if found is None:
        raise ValueError(f"home is {repository!r}, not of the form https://github.com/OWNER/NAME")
    return Home(repository, f"https://{found[1]}.github.io/{found[2]}/")


def for_index(readme: str, home: Home, version: str) -> str:
    """README.md with absolute links."""
    return LINK.sub(lambda link: home.absolute(link[1], version) + (link[2] or ""), readme)


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """The fields `readme` and `urls` of the package's metadata; scikit-build-core calls it."""
    home = read_home(settings["home"])
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return {
        "readme": {
            "content-type": "text/markdown",
            "text": for_index(text, home, project["version"]),
        },
        "urls": {
            "Homepage": home.repository,
            "Documentation": home.manual,
            "Changelog": home.file("CHANGELOG.md", project["version"]),
            "Issues": f"{home.repository}/issues",
        },
    }
