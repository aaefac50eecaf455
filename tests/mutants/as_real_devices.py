"""Subjects on simulated drivers that are declared as real ones, so that the kit has only the
evidence that it has on real devices."""

from __future__ import annotations

import dataclasses

from mutants import consumer_devices, producer_devices
from refarray.conformance import Subject
from refarray.conformance.subjects.libraries import REFARRAY

LOAD_DRIVERS = "import fakegpu; fakegpu.load(cuda=2, hip=2); "


def as_real(subject: Subject) -> Subject:
    """The same subject, declared as running on real drivers."""
    real = {
        vendor: dataclasses.replace(on, simulated=False) for vendor, on in subject.devices.items()
    }
    return dataclasses.replace(subject, imports=LOAD_DRIVERS + subject.imports, devices=real)


clean = as_real(REFARRAY)
for _name, _subject in (vars(producer_devices) | vars(consumer_devices)).items():
    if isinstance(_subject, Subject) and _subject is not REFARRAY:
        globals()[_name] = as_real(_subject)
