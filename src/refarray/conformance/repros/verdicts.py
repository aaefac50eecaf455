"""How a script sees that a finding shows: an expression that is true when the library is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass

from refarray.conformance.cases import Check
from refarray.conformance.harness.corpus import GIVEN
from refarray.conformance.suite.consumer_kinds import TENSORS


@dataclass(frozen=True)
class Verdict:
    """When a script is to exit with status 1, and what it says then. `saw` is the result of the
    call, or its exception; `{values}` is the library's own reading of its values."""

    wrong: str
    says: str = "{saw!r}"
    """The body of an f-string."""
    before: tuple[str, ...] = ()
    """Lines between the call and the verdict."""
    prepare: tuple[str, ...] = ()
    """Lines before the call."""


ERROR = "isinstance(saw, BaseException)"
DROP = "saw = None; gc.collect()"
POINTER = (
    "pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)"
    '(("PyCapsule_GetPointer", ctypes.pythonapi))'
)
POKE = "data[:4] = struct.pack('f', 99)"
NAME = (
    "name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)"
    '(("PyCapsule_GetName", ctypes.pythonapi))(capsules[-1])'
)
WROTE_THROUGH = Verdict(
    f"not {ERROR} and {{values}}[0] == 99",
    "expected a copy; wrote 99 through the producer's memory and the result reads {{values}}",
    (POKE,),
)
FLAGS = (
    POINTER,
    (
        "def flags(x): c = x.__dlpack__(max_version=(1, 3)); return ctypes.c_uint64.from_address("
        "pointer(c, b'dltensor_versioned') + 24).value"
    ),
)
"""The flags that an array exports."""
VERSIONED = Verdict("'versioned' not in repr(saw)")
LEGACY = Verdict(f"'versioned' in repr(saw) or {ERROR} and not isinstance(saw, BufferError)")
SIGNATURE = Verdict(f"{ERROR} or not {{'device', 'copy'}} <= set(saw.parameters)", "{saw}")
FIRST_CALL = "the first call was __dlpack__(**{asked[0]})"
VERDICTS = {
    "CAPI-01 exchange-api": Verdict("saw is not True", "there is no such attribute"),
    "CONS-01 consumer": Verdict("called[:1] != ['__dlpack_device__']", "the calls were {called}"),
    "CONS-04 consumer": Verdict(
        "not isinstance(saw, TypeError) or len(asked) > 2", "{saw!r} after {len(asked)} calls"
    ),
    "CONS-08 consumer": Verdict(
        "any(each.get('stream') is not None for each in asked)", "the calls were {asked}"
    ),
    "CONS-09 consumer": Verdict(
        "any(asked[0].get(name, 0) is None for name in ('copy', 'dl_device'))", FIRST_CALL
    ),
    "CONS-12 consumer": Verdict("bool(deleted)", "the deleter was called while the array lives"),
    "COPY-01 consumer": SIGNATURE,
    "COPY-04 consumer": Verdict(
        "not any(each.get('copy') is False for each in asked)", "the calls were {asked}"
    ),
    "COPY-05 consumer served-legacy": Verdict(
        f"not {ERROR} and flags(saw) & 1 == 1", "the result is exported as READ_ONLY", (), FLAGS
    ),
    "COPY-06 consumer shared": Verdict(
        f"not {ERROR} and {{values}}[0] != 99",
        "expected shared memory; wrote 99 and the result reads {{values}}",
        (POKE,),
    ),
    "COPY-07 consumer ignored": WROTE_THROUGH,
    "COPY-09 consumer old-copy-true": WROTE_THROUGH,
    "LIFE-03 consumer": Verdict(
        "len(deleted) != 1", "the deleter was called {len(deleted)} times, not once", (DROP,)
    ),
    "LIFE-10 consumer": Verdict(
        f"not {ERROR} and not name.startswith(b'used_dltensor')",
        "the consumed capsule is still named {name}",
        (NAME,),
    ),
    "VERS-04 producer": LEGACY,
    "VERS-05 producer": VERSIONED,
    "VERS-06 producer": VERSIONED,
    "VERS-07 producer": LEGACY,
    "VERS-09 consumer first": Verdict(
        "tuple(asked[0].get('max_version') or (0,)) < (1,)", FIRST_CALL
    ),
    "TENS-03 producer": Verdict("bool(saw)", "data is {saw:#x}, not NULL"),
    "FLAG-07 consumer": Verdict(
        f"not {ERROR} and flags(saw) & 4 == 0", "exported again with flags {flags(saw)}", (), FLAGS
    ),
    "FLAG-10 consumer": Verdict(
        f"not {ERROR} and flags(saw) & 1 == 0", "exported again with flags {flags(saw)}", (), FLAGS
    ),
    "FLAG-01 producer": Verdict("saw & ~7 != 0", "flags are {saw:#x}"),
    "FLAG-03 producer": Verdict("not saw & 2", "flags are {saw}: IS_COPIED (2) is not set"),
    "FLAG-04 producer": Verdict("saw & 2 != 0", "flags are {saw}: IS_COPIED (2) is set"),
    "DEV-02 producer": Verdict("saw != 0", "device_id is {saw}"),
    "AAPI-02 producer": Verdict(
        f"{ERROR} or any(saw.parameters[name].default is not None"
        " for name in ('stream', 'max_version', 'dl_device', 'copy'))",
        "{saw}",
    ),
}
"""By "ID role case", or by "ID role"."""
EXPECTED_CLASS = re.compile(r"(?:is|are|or) an? (\w+Error)")
RAISED = re.compile(r"[A-Z]\w*(Error|Exception|Interrupt|Odd)\b")
REFUSAL = re.compile(r"refused|is an exception|raises|refuses|, or BufferError|fails with")


def of_values(values: object, may_refuse: bool) -> Verdict:
    """An import with these values."""
    wrong = f"{{values}} != {values!r}"
    wrong = f"not {ERROR} and {wrong}" if may_refuse else f"{ERROR} or {wrong}"
    return Verdict(wrong)


def of_corpus(check: Check) -> Verdict | None:
    """The verdict on a tensor of the corpus; None if it is to be refused, or is none."""
    wanted = (check.id, check.case.removeprefix("bare-"))
    for given in GIVEN:
        if (given.id, given.case) == wanted and given.right != "refuse":
            may_refuse = given.right == "either" or given.may_refuse
            return None if given.values is None else of_values(given.values, may_refuse)
    way, _, name = check.case.partition("-")
    sent = way in {"versioned", "legacy"} and name in TENSORS
    if check.role == "consumer" and sent and not check.part_of:
        return of_values(TENSORS[name].values, True)
    return None


def verdict(check: Check, observed: str, told: str) -> Verdict | None:
    """How a script shows the finding; None if no expression is known. `told`: CheckResult.wrong."""
    for name in (f"{check.id} {check.role} {check.case}", f"{check.id} {check.role}"):
        if name in VERDICTS:
            return VERDICTS[name]
    if told:
        return Verdict(told)
    if found := of_corpus(check):
        return found
    if classes := EXPECTED_CLASS.findall(check.expected):
        return Verdict(f"not isinstance(saw, ({', '.join(dict.fromkeys(classes))},))")
    if RAISED.match(observed):
        return Verdict(ERROR)
    if REFUSAL.search(check.expected):
        return Verdict(f"not {ERROR}", "it was accepted, as a {type(saw).__name__}")
    return None
