"""Owns subjects on a machine whose drivers are simulated without saying so: what the kit sees there
is what it can see of real devices."""

from __future__ import annotations

import dataclasses

from mutants import devices, receivers
from refarray.conformance import Subject
from refarray.conformance.subjects.subject import REFARRAY

BOOT = "import fakegpu; fakegpu.load(cuda=2, hip=2); "


def there(subject: Subject) -> Subject:
    """The same subject, which is not known to run on simulated drivers."""
    real = {
        vendor: dataclasses.replace(on, simulated=False) for vendor, on in subject.devices.items()
    }
    return dataclasses.replace(subject, imports=BOOT + subject.imports, devices=real)


clean = there(REFARRAY)
handle_ignored = there(vars(devices)["handleignored"])
none_is_nothing = there(vars(devices)["noneisnothing"])
minus_one_waits = there(vars(devices)["minusonewaits"])
host_waits = there(vars(devices)["hostwaits"])
copies_before = there(vars(devices)["copiesbefore"])
moves_anywhere = there(vars(devices)["movesanywhere"])
never_waits = there(vars(receivers)["never_waits_"])
deletes_at_once = there(vars(receivers)["deletes_at_once_"])
