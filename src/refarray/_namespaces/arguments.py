"""The arguments of namespace(): extensions, devices and default dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import refarray
from refarray._namespaces import devices as virtual
from refarray._namespaces import versions
from refarray._namespaces.devices import VirtualDevice


def to_extensions(names: Iterable[str] | None, version: Any) -> tuple[str, ...]:
    if names is None:
        return refarray._EXTENSIONS
    if isinstance(names, str):
        raise TypeError(f"namespace(): extensions is a list of names, not {names!r}")
    given = set(names)
    if not given <= set(refarray._EXTENSIONS):
        unknown = sorted(map(repr, given - set(refarray._EXTENSIONS)))
        raise ValueError(
            f"namespace(): there is no extension {unknown[0]}; there are 'fft', 'linalg'"
        )
    for name in sorted(given):
        since = versions.EXTENSIONS[name]
        if str(version) < since:
            raise ValueError(
                f"namespace(): extensions has {name!r}, which came with {since}; api_version is "
                f"{version!r}"
            )
    return tuple(name for name in refarray._EXTENSIONS if name in given)


def to_devices(given: Iterable[VirtualDevice]) -> tuple[VirtualDevice, ...]:
    out = tuple(given)
    for each in out:
        if not isinstance(each, VirtualDevice):
            raise TypeError(f"namespace(): devices are refarray.VirtualDevice, not {each!r}")
    if len(set(out)) < len(out) or len({each.dlpack for each in out}) < len(out):
        raise ValueError(f"namespace(): two of the devices {out} are equal or have the same id")
    return out


def to_defaults(given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    full = virtual.check_defaults(given, virtual.STANDARD)
    return tuple((kind, each) for kind, each in full.items() if each != virtual.DEFAULTS[kind])
