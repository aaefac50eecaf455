"""Reads limits.toml, the partners' limits and quirks, and checks them strictly: an exchange that a
limit forbids must fail as recorded."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from helpers.dtype_names import FLOAT8, SUB_BYTE
from packaging.specifiers import SpecifierSet

from .grid import DTYPES, LAYOUTS, NARROW

FLAGS = ("readonly", "copy")
DATA = Path(__file__).with_name("limits.toml")


@dataclass(frozen=True)
class Limit:
    """A facet that releases of a partner do not support, and the exception that they raise."""

    partner: str
    versions: str
    direction: str
    facet: str
    raises: str
    reason: str
    link: str = ""


@dataclass(frozen=True)
class Quirk:
    """Unexpected behavior of a partner, shown by a test with its marker; from release `gone` on it
    was not seen any more."""

    id: str
    partner: str
    versions: str
    direction: str
    reason: str
    link: str = ""
    gone: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether the installed release lacks it; the tests of a missing partner run, and fail."""
        if not self.gone or installed(self.partner) is None:
            return False
        return concerns(self.partner, f">={self.gone}")


# Broadcast views of refarray are read-only, so refarray itself refuses them to legacy consumers.
GROUPS = {
    "dtype:NARROW": [f"dtype:{name}" for name in NARROW],
    "dtype:SMALL": [f"dtype:{name}" for name in (*FLOAT8, *SUB_BYTE)],
    "layout:STRIDED": [
        f"layout:{name}"
        for name, layout in LAYOUTS.items()
        if not (layout.compact or layout.broadcast or name == "offset")
    ],
}


TABLES = tomllib.loads(DATA.read_text(encoding="utf-8"))


def affected(partner: str, row: dict[str, Any]) -> dict[str, Any]:
    """The fields that limits and quirks share; the row keeps the others and what is in its
    direction."""
    versions = row.pop("versions", None) or TABLES[partner]["versions"]
    (direction,) = row.keys() & {"to", "from"}
    return {"partner": partner, "versions": versions, "direction": direction}


def _limits() -> Iterator[Limit]:
    for partner, table in TABLES.items():
        for row in table.pop("limit", []):
            shared = affected(partner, row)
            for facet in row.pop(shared["direction"]):
                for name in GROUPS.get(facet, [facet]):
                    yield Limit(facet=name, **shared, **row)


def _quirks() -> Iterator[Quirk]:
    for partner, table in TABLES.items():
        for id, row in table.pop("quirk", {}).items():
            shared = affected(partner, row)
            yield Quirk(id=id, reason=row.pop(shared["direction"]), **shared, **row)


LIMITS = tuple(_limits())
QUIRKS = {quirk.id: quirk for quirk in _quirks()}
PARTNERS = {name: row["distribution"] for name, row in TABLES.items()}
MET: set[Limit] = set()  # limits met in this run
SHOWN: set[Quirk] = set()


@cache
def installed(partner: str) -> str | None:
    try:
        return metadata.version(PARTNERS[partner])
    except metadata.PackageNotFoundError:
        return None  # its tests are collected anyway; they fail unless deselected


@cache
def concerns(partner: str, versions: str) -> bool:
    """Whether the installed version of the partner is one of `versions`."""
    version = installed(partner)
    return version is None or SpecifierSet(versions, prereleases=True).contains(version)


def find(partner: str, direction: str, *facets: str) -> Limit | None:
    for limit in LIMITS:
        if (
            (limit.partner, limit.direction) == (partner, direction)
            and limit.facet in facets
            and concerns(partner, limit.versions)
        ):
            return limit
    return None


def attempt(
    partner: str, direction: str, facets: tuple[str, ...], action: Callable[[], Any]
) -> Any | None:
    """The result of the exchange, or None if it failed with the exception of its limit."""
    limit = find(partner, direction, *facets)
    if limit is None:
        return action()
    try:
        result = action()
    except Exception as error:
        if type(error).__name__ != limit.raises:
            raise
        MET.add(limit)
        return None
    raise AssertionError(
        f"{partner} {installed(partner)} supports {limit.facet} ({limit.direction}) and returned "
        f"{type(result).__name__}; remove the facet or restrict the versions of {limit}"
    )


def known_facets() -> set[str]:
    return {
        *(f"dtype:{name}" for name in (*DTYPES, *NARROW)),
        *(f"layout:{name}" for name in LAYOUTS),
        *(f"flag:{name}" for name in FLAGS),
    }
