"""Owns reading requirements.toml: each requirement of DLPack and the array API's interchange."""

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
    """No sentence asks for it; safety or interoperability needs it."""
    DISPUTED = "DISPUTED"
    """The texts leave it open or contradict each other."""


class Role(StrEnum):
    """Who has to do it."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    EXCHANGE_API = "exchange-api"
    """The C table of a type."""
    PAIR = "pair"
    """Both sides together."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of the standards, under an id that never changes its meaning.

    `derived` says that the level follows from a text without being written there; `source` is a
    link to that text.
    """

    id: str
    title: str
    level: Level
    source: str
    versions: tuple[str, ...]
    """The standards and the versions from which on it holds: "DLPack 1.2+"."""
    rationale: str
    roles: tuple[Role, ...]
    policy: tuple[str, ...] = ()
    """What refarray chose where the texts are silent: "A-02", explained in the manual."""
    gpu: bool = False
    """Some part of it shows only where a device with streams is, real or simulated."""
    derived: bool = False

    @property
    def family(self) -> str:
        """The id without its number: "TENS"."""
        return self.id.partition("-")[0]


def link(source: str, sources: Mapping[str, str]) -> str:
    """The address that a `source` entry stands for: `name#part`, or `issue:owner/name#number`."""
    name, _, part = source.partition("#")
    if name.startswith("issue:"):
        return f"https://github.com/{name.removeprefix('issue:')}/issues/{part}"
    return f"{sources[name]}#{part}" if part else sources[name]


def parse(text: str) -> tuple[dict[str, str], dict[str, Requirement]]:
    """The families and the requirements of a file like requirements.toml, in its order.

    ValueError names the requirement and the entry that are wrong.
    """
    data = tomllib.loads(text)
    families = cast(dict[str, str], data["families"])
    found = {}
    for name, entry in data["requirement"].items():
        try:
            found[name] = _requirement(name, entry, data["sources"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"{name}: {error}") from error
        if found[name].family not in families:
            raise ValueError(f"{name}: no family is called {found[name].family}")
    return families, found


def _requirement(name: str, entry: dict[str, Any], sources: Mapping[str, str]) -> Requirement:
    if not re.fullmatch(r"[A-Z]+-\d\d", name):
        raise ValueError(f"{name}: an id is a family and two digits")
    if entry["level"] not in tuple(Level):
        raise ValueError(f"{name}: no level is called {entry['level']!r}")
    if not entry["roles"] or not set(entry["roles"]) <= set(Role):
        raise ValueError(f"{name}: the roles are {entry['roles']}; there are {', '.join(Role)}")
    typed = {
        "level": Level(entry["level"]),
        "roles": tuple(map(Role, entry["roles"])),
        "source": link(entry["source"], sources),
        "versions": tuple(entry["versions"]),
        "policy": tuple(entry.get("policy", ())),
    }
    return Requirement(id=name, **{**entry, **typed})


_read: list[tuple[Mapping[str, str], Mapping[str, Requirement]]] = []  # once read, the one entry


def _registry() -> tuple[Mapping[str, str], Mapping[str, Requirement]]:
    if not _read:
        file = resources.files(__package__).joinpath("requirements.toml")
        families, found = parse(file.read_text(encoding="utf-8"))
        _read.append((MappingProxyType(families), MappingProxyType(found)))
    return _read[0]


_given: list[Mapping[str, str]] = []  # the reasons, once read


def reasons() -> Mapping[str, str]:
    """Why the kit has no check for a requirement, by its id. The file is read once."""
    if _given:
        return _given[0]
    file = resources.files(__package__).joinpath("no_check.toml")
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    out = {}
    for kind, names in data["no_check"].items():
        for name in names:
            if name in out:
                raise ValueError(f"{name}: no_check.toml gives two reasons")
            out[name] = data["kinds"][kind]
    _given.append(MappingProxyType(out))
    return _given[0]


def families() -> Mapping[str, str]:
    """What each family of ids is about: {"ABI": "Memory layout of the structs", ...}."""
    return _registry()[0]


def requirements() -> Mapping[str, Requirement]:
    """Every requirement by its id, in the order of the families. The file is read once."""
    return _registry()[1]


def requirement(name: str) -> Requirement:
    """The requirement with that id, in any case: KeyError when there is none."""
    return requirements()[name.upper()]
