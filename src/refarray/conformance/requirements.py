"""Reads requirements.toml: the requirements of DLPack and of the array API's data interchange."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from types import MappingProxyType
from typing import Any, cast


class Level(StrEnum):
    """How strictly something is required."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"
    HAZARD = "HAZARD"
    """Not required by the texts, but needed for safety or interoperability; so always derived."""
    DISPUTED = "DISPUTED"
    """The texts leave it open or contradict each other."""


class Role(StrEnum):
    """The side that a requirement binds."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    EXCHANGE_API = "exchange-api"
    """The C table of a type."""
    PAIR = "pair"
    """Both sides together."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a standard. `[…]` stands for words left out."""

    text: str
    document: str
    """The name and the version of the document: "dlpack.h 1.3"."""
    link: str
    """The lines of the document at a commit: this link cannot change."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of the standards. The meaning of an id never changes.

    `source` is a link to the text; `derived` says that the level follows from the text without
    being stated there.
    """

    id: str
    title: str
    level: Level
    source: str
    versions: tuple[str, ...]
    """The standards and the first version in which it holds: "DLPack 1.2+"."""
    rationale: str
    roles: tuple[Role, ...]
    policy: tuple[str, ...] = ()
    """refarray's choices where the texts are silent: "A-02", explained in the manual."""
    gpu: bool = False
    """Some part of it can be shown only on a device with streams, real or simulated."""
    derived: bool = False
    quote: str = ""
    """The sentence at `source`, or the first of those that the requirement is derived from."""
    document: str = ""
    """The document of `source`, as Quote.document."""
    beside: tuple[Quote, ...] = ()
    """Further sentences that decide the level: those that state the rest of the requirement, or
    that allow what the first one forbids."""
    see: str = ""
    """A link to a discussion; empty if there is none."""

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """Every quoted sentence, the one at `source` first."""
        return (Quote(self.quote, self.document, self.source), *self.beside)

    @property
    def basis(self) -> str:
        """ "derived" if no sentence states the requirement, else empty: for reports."""
        return "derived" if self.derived else ""

    @property
    def family(self) -> str:
        """The id without its number: "TENS"."""
        return self.id.partition("-")[0]


Sources = Mapping[str, Mapping[str, str]]
"""The table [sources]: the document and the URL of each name."""


def link(source: str, sources: Sources) -> str:
    """The URL of a `source` entry: `name#lines`, or `issue:owner/name#number`."""
    name, _, part = source.partition("#")
    if name.startswith("issue:"):
        return f"https://github.com/{name.removeprefix('issue:')}/issues/{part}"
    url = sources[name]["url"]
    return f"{url}#{part}" if part else url


def _quote(entry: Mapping[str, str], sources: Sources) -> Quote:
    """A row of `beside`."""
    document = sources[entry["source"].partition("#")[0]]["document"]
    return Quote(entry["quote"], document, link(entry["source"], sources))


def parse(text: str) -> tuple[dict[str, str], dict[str, Requirement]]:
    """The families and requirements in the text of requirements.toml, in its order.

    ValueError names the wrong requirement and entry.
    """
    data = tomllib.loads(text)
    families = cast(dict[str, str], data["families"])
    found = {}
    for name, entry in data["requirement"].items():
        try:
            usual = data.get("usual", {}).get(name.partition("-")[0], {})
            found[name] = _requirement(name, {**usual, **entry}, data["sources"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"{name}: {error}") from error
        if found[name].family not in families:
            raise ValueError(f"{name}: no family is called {found[name].family}")
    return families, found


def _requirement(name: str, entry: dict[str, Any], sources: Sources) -> Requirement:
    if not re.fullmatch(r"[A-Z]+-\d\d", name):
        raise ValueError(f"{name}: an id is a family and two digits")
    if entry["level"] not in tuple(Level):
        raise ValueError(f"{name}: no level is called {entry['level']!r}")
    if not entry["roles"] or not set(entry["roles"]) <= set(Role):
        raise ValueError(f"{name}: the roles are {entry['roles']}; there are {', '.join(Role)}")
    if not entry.get("quote"):
        raise ValueError(f"{name}: quotes no sentence")
    typed = {
        "level": Level(entry["level"]),
        "roles": tuple(map(Role, entry["roles"])),
        "source": link(entry["source"], sources),
        "document": sources[entry["source"].partition("#")[0]]["document"],
        "beside": tuple(_quote(each, sources) for each in entry.get("beside", ())),
        "see": link(entry["see"], sources) if "see" in entry else "",
        "versions": tuple(entry["versions"]),
        "policy": tuple(entry.get("policy", ())),
        "derived": entry["level"] == Level.HAZARD or entry.get("derived", False),
    }
    return Requirement(id=name, **{**entry, **typed})


_read: list[
    tuple[Mapping[str, str], Mapping[str, Requirement]]
] = []  # the registry, once it is read


def _registry() -> tuple[Mapping[str, str], Mapping[str, Requirement]]:
    if not _read:
        file = resources.files(__package__).joinpath("requirements.toml")
        families, found = parse(file.read_text(encoding="utf-8"))
        _read.append((MappingProxyType(families), MappingProxyType(found)))
    return _read[0]


_reasons: list[Mapping[str, str]] = []  # the reasons, once they are read


def reasons() -> Mapping[str, str]:
    """Why the kit has no check for a requirement, by its id. The file is read once."""
    if _reasons:
        return _reasons[0]
    file = resources.files(__package__).joinpath("no_check.toml")
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    out = {}
    for kind, names in data["no_check"].items():
        for name in names:
            if name in out:
                raise ValueError(f"{name}: no_check.toml gives two reasons")
            out[name] = data["kinds"][kind]
    _reasons.append(MappingProxyType(out))
    return _reasons[0]


def families() -> Mapping[str, str]:
    """The families of ids and their titles: {"ABI": "Memory layout of the structs", ...}."""
    return _registry()[0]


def requirements() -> Mapping[str, Requirement]:
    """Every requirement by its id, in the order of the families. The file is read once."""
    return _registry()[1]


def requirement(name: str) -> Requirement:
    """The requirement with that id, in upper or lower case. KeyError if there is none."""
    return requirements()[name.upper()]
