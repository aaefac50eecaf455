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
handle_ignored = as_real(vars(producer_devices)["handleignored"])
none_is_no_sync = as_real(vars(producer_devices)["noneisnosync"])
minus_one_syncs = as_real(vars(producer_devices)["minusonesyncs"])
blocks_host = as_real(vars(producer_devices)["blockshost"])
copy_not_ordered = as_real(vars(producer_devices)["copynotordered"])
to_device_ignores_stream = as_real(vars(producer_devices)["todeviceignoresstream"])
passes_minus_one = as_real(vars(consumer_devices)["passes_minus_one_"])
deletes_before_work_ends = as_real(vars(consumer_devices)["deletes_before_work_ends_"])
