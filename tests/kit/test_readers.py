"""The kit's own readers on tensors made by hand: the fields of capsules, and the values of every
dtype, packed, padded and in lanes, by strides and offsets. refarray reads none of them. Then what
the kit reads of refarray's arrays, and what a library says of them."""

from __future__ import annotations

import ctypes
import itertools
import math
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import refarray as ra
from refarray._describe import SIZED_CODES
from refarray.conformance import _adversary, give
from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness import memory
from refarray.conformance.harness.consumer import Import
from refarray.conformance.harness.corpus import GIVEN
from refarray.conformance.harness.memory import Dtype, Unreadable, tensor_values
from refarray.conformance.harness.statement import Statement, statement
from refarray.conformance.subjects.libraries import REFARRAY
from refarray.conformance.subjects.subject import DTYPES, Subject
from refarray.conformance.suite import consumer_kinds, corpus_checks
from refarray.conformance.suite.reading import Reading

pytestmark = pytest.mark.every_python

COUNT = 24  # elements of each tensor's memory
PADDED = 4
#: name: (shape, strides, index of the first element), within COUNT elements.
LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...] | None, int]] = {
    "row-major": ((2, 3, 4), None, 0),
    "every third": ((5,), (3,), 0),
    "backwards": ((16,), (-1,), 16),
    "transposed": ((3, 2), (1, 3), 8),
    "both ways": ((2, 2), (-3, 2), 8),
    "repeated": ((2, 3), (0, 1), 8),
    "scalar": ((), (), 8),
    "empty": ((0, 3), None, 0),
}
AXES = ("shape", "strides")
ROW_MAJOR = {(2, 3, 4): (12, 4, 1), (0, 3): (3, 1)}


def small_float(exponent_bits: int, mantissa_bits: int, bias: int) -> Callable[[int], float]:
    """The value of a finite code: the mantissa's steps, scaled by the exponent's power of two."""

    def value(code: int) -> float:
        sign, rest = divmod(code, 1 << (exponent_bits + mantissa_bits))
        exponent, mantissa = divmod(rest, 1 << mantissa_bits)
        steps = mantissa + (1 << mantissa_bits) * (exponent > 0)
        return (-1) ** sign * math.ldexp(steps, max(exponent, 1) - bias - mantissa_bits)

    return value


def unpacked(letter: str, size: int) -> Callable[[int], Any]:
    return lambda code: struct.unpack(f"<{letter}", code.to_bytes(size, "little"))[0]


def complex_of(letter: str, size: int) -> Callable[[int], complex]:
    part = unpacked(letter, size)
    low, high = (0, 8 * size) if sys.byteorder == "little" else (8 * size, 0)
    return lambda code: complex(*(part(code >> at & (1 << 8 * size) - 1) for at in (low, high)))


#: (code, bits): the value of the lane with these bits.
FORMS: dict[tuple[int, int], Callable[[int], Any]] = {
    **{(0, bits): lambda c, b=bits: c - (c >> (b - 1) << b) for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{(1, bits): lambda c: c for bits in (1, 2, 4, 8, 16, 32, 64)},
    (2, 16): unpacked("e", 2),
    (2, 32): unpacked("f", 4),
    (2, 64): unpacked("d", 8),
    (4, 16): lambda c: unpacked("f", 4)(c << 16),
    (5, 32): complex_of("e", 2),
    (5, 64): complex_of("f", 4),
    (5, 128): complex_of("d", 8),
    (6, 8): lambda c: c,
    (7, 8): small_float(3, 4, 3),
    (8, 8): small_float(4, 3, 7),
    (9, 8): small_float(4, 3, 11),
    (10, 8): small_float(4, 3, 7),
    (11, 8): small_float(4, 3, 8),
    (12, 8): small_float(5, 2, 15),
    (13, 8): small_float(5, 2, 16),
    (14, 8): lambda c: math.ldexp(1, c - 127),
    (15, 6): small_float(2, 3, 1),
    (16, 6): small_float(3, 2, 3),
    (17, 4): small_float(2, 1, 1),
}


#: (code, bits): whether these bits are a NaN or an infinity.
SPECIAL: dict[tuple[int, int], Callable[[int], bool]] = {
    (7, 8): lambda c: c >> 4 & 7 == 7,
    (8, 8): lambda c: c >> 3 & 15 == 15,
    (9, 8): lambda c: c == 0x80,
    (10, 8): lambda c: c & 0x7F == 0x7F,
    (11, 8): lambda c: c == 0x80,
    (12, 8): lambda c: c >> 2 & 31 == 31,
    (13, 8): lambda c: c == 0x80,
    (14, 8): lambda c: c == 0xFF,
}


def codes_of(dtype: Dtype) -> list[int]:
    """The bits of the lanes of COUNT elements: numbers of both signs, no NaN and no infinity."""
    code, bits, lanes = dtype
    part = bits // 2 if code == 5 else bits
    special = SPECIAL.get((code, bits), lambda _: False)
    pool = [c for c in range(1 << min(part, 8)) if not special(c) and (code != 6 or c < 2)]
    if part > 8:  # the highest byte decides sign and exponent; the lowest is part of the mantissa
        pool = [(c if code < 2 else c & 0xBF) << (part - 8) | c for c in pool]
    if code == 5:
        pool = [c | pool[-1 - at] << part for at, c in enumerate(pool)]
    return [pool[each * 7 % len(pool)] for each in range(COUNT * lanes)]


def in_memory(codes: Sequence[int], bits: int, padded: bool) -> bytes:
    """The lanes one after the other; those of less than a byte in a little-endian stream of
    bits, or a byte each."""
    if bits % 8 == 0:
        return b"".join(each.to_bytes(bits // 8, sys.byteorder) for each in codes)
    step = 8 if padded else bits
    number = sum(each << (step * index) for index, each in enumerate(codes))
    return number.to_bytes((len(codes) * step + 7) // 8, "little")


def nested(lanes: Sequence[Any], each: int, shape: Sequence[int], places: Sequence[int]) -> Any:
    """The elements at the places that a layout reaches; of several lanes each is a list."""
    if not shape:
        element = list(lanes[places[0] * each : (places[0] + 1) * each])
        return element if each > 1 else element[0]
    return [
        nested(lanes, each, shape[1:], (places[0] + index * places[1], *places[2:]))
        for index in range(shape[0])
    ]


def tensors() -> Iterator[tuple[str, dict[str, Any], Any]]:
    """(name, fields for make(), values) of a tensor of every dtype, layout, padding and lanes."""
    for (code, bits), form in FORMS.items():
        for lanes in (1, 3):
            for padded in (False, True) if bits < 8 else (False,):
                dtype = (code, bits, lanes)
                codes = codes_of(dtype)
                values = [form(each) for each in codes]
                for name, (shape, strides, first) in LAYOUTS.items():
                    steps = ROW_MAJOR[shape] if strides is None else strides
                    fields = {
                        "dtype": dtype,
                        "shape": shape,
                        "strides": strides,
                        "data": in_memory(codes, bits, padded),
                        "byte_offset": first * lanes * (8 if padded else bits) // 8,
                        "flags": PADDED * padded,
                    }
                    said = nested(values, lanes, shape, (first, *steps))
                    yield f"{dtype}{' padded' * padded} {name}", fields, said


def misread() -> list[str]:
    """The tensors whose values the kit reads wrongly."""
    wrong = []
    for name, fields, said in tensors():
        capsule = _adversary.make(**fields).capsule()
        if tensor_values(_adversary.fields(capsule)) != said:
            wrong.append(name)
    return wrong


def test_the_values_of_every_dtype_and_layout_are_read() -> None:
    assert sum(1 for _ in tensors()) == 672
    assert misread() == []


def without(element: Callable[..., Any], dtype: Callable[[Dtype], Dtype], padded: bool) -> Any:
    """The reader of an element, with another dtype, and deaf to the padding unless `padded`."""
    return lambda at, index, of, pads: element(at, index, dtype(of), padded and pads)


#: bug: (what the names of the tensors have that are then misread, the name in `memory`, its value)
BUGS: dict[str, tuple[str, str, Any]] = {
    "a wrong bias": ("(9, 8, ", "FLOATS", {**memory.FLOATS, (9, 8): memory.FLOATS[8, 8]}),
    "no sign": (
        *("(0, ", "of_bits"),
        lambda number, code, bits, right=memory.of_bits: right(number, max(code, 1), bits),
    ),
    "ignores the padding": ("padded", "element", without(memory.element, lambda of: of, False)),
    "first lane only": (
        *(", 3)", "element"),
        without(memory.element, lambda of: (*of[:2], 1), True),
    ),
    "rows as columns": ("row-major", "row_major", lambda shape: tuple(range(1, len(shape) + 1))),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_of_the_reader_is_noticed(monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    shown_by, name, wrong = BUGS[bug]
    monkeypatch.setattr(memory, name, wrong)
    found = misread()
    assert found and all(shown_by in each for each in found)


@pytest.mark.parametrize("dtype", [key for key in FORMS if key[0] == 4 or key[0] > 6])
def test_every_code_of_a_small_float_is_decoded_as_ml_dtypes_does(dtype: tuple[int, int]) -> None:
    ml_dtypes, numpy = pytest.importorskip("ml_dtypes"), pytest.importorskip("numpy")
    name = "bfloat16" if dtype == (4, 16) else SIZED_CODES[dtype[0]][0]
    codes = numpy.arange(1 << dtype[1], dtype="u2" if dtype == (4, 16) else "u1")
    with numpy.errstate(invalid="ignore"):  # signalling NaNs
        right = codes.view(getattr(ml_dtypes, name)).astype("f8").tolist()
    ours = [memory.of_bits(number, *dtype) for number in range(1 << dtype[1])]
    assert [repr(each) for each in ours] == [repr(each) for each in right]  # also -0.0 and nan


@pytest.mark.parametrize(
    ("code", "bits", "number", "value"),
    [
        (2, 16, 0x7C00, math.inf),
        (2, 16, 0x0001, 2.0**-24),
        (2, 32, 0xFF7FFFFF, -3.4028234663852886e38),
        (2, 64, 0x7FEFFFFFFFFFFFFF, sys.float_info.max),
        (2, 64, 0x0000000000000001, 5e-324),
        (2, 64, 0xFFF0000000000000, -math.inf),
        (6, 8, 7, 7),  # no bool: shown as it is
        (0, 64, 1 << 63, -(2**63)),
    ],
)
def test_values_at_the_ends_of_their_ranges(code: int, bits: int, number: int, value: Any) -> None:
    assert memory.of_bits(number, code, bits) == value


@pytest.mark.parametrize("dtype", [(2, 80, 1), (3, 64, 1), (2, 32, 0), (0, 65, 1), (99, 8, 1)])
def test_other_dtypes_are_not_decoded(dtype: Dtype) -> None:
    with pytest.raises(NotApplicable, match="does not decode"):
        memory.values(0, (), (), dtype)


# --- fields


def test_every_field_of_both_structs_is_read() -> None:
    fields = {
        "shape": (2, 1, 3),
        "strides": (-(2**63), 2**63 - 1, 0),
        "data": 0xDEAD0000,
        "byte_offset": 2**64 - 1,
        "dtype": (5, 254, 65535),
        "device": (-3, 2**31 - 1),
    }
    more = {
        "ndim": 3,
        "struct": "DLManagedTensor",
        "name": "dltensor",
        "version": None,
        "flags": None,
    }
    for versioned in (False, True):
        if versioned:
            fields["flags"] = 2**63 + 5
            more |= {
                "struct": "DLManagedTensorVersioned",
                "name": "dltensor_versioned",
                "version": (1, 3),
            }
        made = _adversary.make(versioned=versioned, **fields)
        capsule = made.capsule()
        found = _adversary.fields(capsule)
        assert found.pop("manager_ctx") and found.pop("deleter")
        assert found == {**more, **fields}
        assert made.deleter_calls == 0
        del capsule
        assert made.deleter_calls == 1


def test_null_members_are_read_as_such() -> None:
    nulls = {"shape": None, "strides": None, "data": None, "deleter": None, "manager_ctx": False}
    for versioned in (False, True):
        found = _adversary.fields(_adversary.make(versioned=versioned, ndim=2, **nulls).capsule())
        assert (found["shape"], found["strides"], found["data"]) == (None, None, 0)
        assert (found["deleter"], found["manager_ctx"]) == (0, 0)


@pytest.mark.parametrize("ndim", [-(2**31), -1, 65, 2**31 - 1])
def test_no_entry_is_read_for_an_impossible_ndim(ndim: int) -> None:
    capsule = _adversary.make(shape=(3,), ndim=ndim, guarded=True).capsule()
    found = _adversary.fields(capsule)
    assert (found["ndim"], found["shape"], found["strides"]) == (ndim, None, None)
    with pytest.raises(Unreadable, match="no shape"):
        tensor_values(found)


def test_no_axis_needs_no_entry() -> None:
    found = _adversary.fields(
        _adversary.make(shape=0xDEAD0008, strides=0xDEAD0008, ndim=0).capsule()
    )
    assert (found["shape"], found["strides"]) == ((), ())


def test_of_another_major_version_only_the_header_is_read() -> None:
    capsule = _adversary.make(version=(2, 7), flags=9, unmapped_body=True).capsule()
    found = _adversary.fields(capsule)
    assert (found["version"], found["flags"], "shape" in found) == ((2, 7), 9, False)
    with pytest.raises(Unreadable, match="no shape"):
        tensor_values(found)


@pytest.mark.not_sanitized("the race is the test")
def test_each_member_is_read_once(adv: Any) -> None:
    """A native thread changes all members meanwhile: what was checked is what is used."""
    tensor = adv.make(shape=(3,))
    capsule, seen = tensor.capsule(), set()
    adv.start_flipping(tensor)
    try:
        for _ in range(20000):
            found = adv.fields(capsule)
            seen.add((found["ndim"], *(found[name] and len(found[name]) for name in AXES)))
    finally:
        adv.stop_flipping()
    axes = {(1, *each) for each in itertools.product((None, 1), repeat=2)}
    assert seen <= {(-1, None, None), *axes}


def test_only_unconsumed_capsules_of_dlpack_are_read() -> None:
    with pytest.raises(TypeError, match="not a capsule: <class 'list'>"):
        _adversary.fields([])
    for name in ("something", "used_dltensor", None):
        with pytest.raises(ValueError, match="no unconsumed DLPack tensor"):
            _adversary.fields(_adversary.make(name=name, deleter=None).capsule())
    capsule = _adversary.make().capsule()
    kept = _adversary.take(capsule)
    with pytest.raises(ValueError, match="used_dltensor_versioned"):
        _adversary.fields(capsule)
    kept.drop()


def test_malformed_tensors_are_exceptions() -> None:
    def read(**fields: Any) -> Any:
        return tensor_values(_adversary.fields(_adversary.make(**fields).capsule()))

    for fields in (
        {"data": None},
        {"data": 0x1000},  # nothing is ever mapped below 64 KiB
        {"byte_offset": 2**64 - 8},
        {"strides": (2**62,)},
        {"shape": (-1,)},
        {"shape": (2**40, 2**40)},
    ):
        with pytest.raises(Unreadable):
            read(**fields)
    with pytest.raises(NotApplicable, match="device"):
        read(device=(2, 0))


class Exporter:
    """Exports one tensor, made by hand, again and again."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.made: list[Any] = []

    def __dlpack__(self, **_: Any) -> object:
        self.made.append(_adversary.make(**self.fields))
        return self.made[-1].capsule()


def test_the_values_of_an_import_are_read_from_its_capsule() -> None:
    array = Exporter(shape=(2, 2), strides=(1, 2), dtype=(17, 4, 1), data=b"\x21\x43")
    assert Import(array).values == [[0.5, 1.5], [1.0, 2.0]]
    assert [each.deleter_calls for each in array.made] == [1]


# --- what a library says of its arrays, beside what the memory holds


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_decoded(dtype: str) -> None:
    array = ra.arange(37).astype(dtype)
    held = ra._native._inspect_capsule(array.__dlpack__(max_version=(1, 3)))
    found = memory.values(held["data"] + held["byte_offset"], (37,), (1,), held["dtype"])
    assert found == array.tolist()


def test_unmapped_memory_is_an_exception() -> None:
    with pytest.raises(Unreadable, match="cannot be read"):
        memory.read(16, 8)
    with pytest.raises(Unreadable, match="cannot be written"):
        memory.write(16, b"12345678")
    with pytest.raises(Unreadable, match="shape"):
        memory.values(16, (2**40,), (1,), (2, 32, 1))
    with pytest.raises(NotApplicable, match="decode"):
        memory.width((17, 4, 1))


def test_read_only_memory_does_not_crash() -> None:
    text = struct.pack("3f", 1, 2, 3)
    place = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value
    assert place is not None
    assert memory.values(place, (3,), (1,), (2, 32, 1)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("layout", "dtype"),
    [
        *((layout, "float32") for layout in consumer_kinds.LAYOUTS),
        *(("offset-strided", dtype) for dtype in DTYPES),
    ],
)
def test_sent_values_are_those_that_refarray_reads(layout: str, dtype: str) -> None:
    tensor = consumer_kinds.make_tensor(layout, dtype)
    assert ra.from_dlpack(give(**tensor.fields)).tolist() == tensor.values


def reading(array: ra.Array, **changes: Any) -> Reading:
    """An export of the array with some fields changed, beside what refarray says of it."""
    held = dict(ra._native._inspect_capsule(array.__dlpack__(max_version=(1, 3))))
    said = statement(REFARRAY, {}, array)
    return Reading({**held, **changes}, said, (2, 32, 1))


def test_parts_are_judged_by_themselves() -> None:
    array = ra.reshape(ra.arange(6, dtype=ra.float32), (2, 3)).T
    right = reading(array)
    assert right.judge_values()[0] and right.judge_layout()[0] and right.judge_dtype()[0]
    strides = reading(array, strides=(2, 1))
    assert strides.judge_values()[0] and not strides.judge_layout()[0]
    offset = reading(array, byte_offset=4)
    assert not offset.judge_values()[0] and offset.judge_layout()[0]
    dtype = reading(array, dtype=(0, 32, 1))
    assert dtype.judge_values()[0] and dtype.judge_layout()[0] and not dtype.judge_dtype()[0]
    both = reading(array, strides=(2, 1), byte_offset=4)
    assert not both.judge_values()[0] and not both.judge_layout()[0]


def test_strides_are_found_without_a_statement() -> None:
    array = ra.reshape(ra.arange(6, dtype=ra.float32), (2, 3)).T
    said = Statement((3, 2), array.tolist(), None)
    held = dict(ra._native._inspect_capsule(array.__dlpack__(max_version=(1, 3))))
    wrong = Reading({**held, "strides": (2, 1)}, said, (2, 32, 1))
    assert wrong.judge_values()[0] and not wrong.judge_layout()[0]


class Bare:
    """An array of another class: no tolist, no strides, values by index only."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.shape = (len(values),) if isinstance(values, list) else ()

    def __getitem__(self, index: int) -> Any:
        return Bare(self.values[index])

    def __float__(self) -> float:
        return float(self.values)


def test_values_are_read_by_index() -> None:
    subject = Subject("bare", "")
    assert statement(subject, {}, Bare([1, 2])) == Statement((2,), [1.0, 2.0], None)
    with pytest.raises(NotApplicable, match="own values cannot be read"):
        statement(subject, {}, object())


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ([[0, 1], [2, 3], [4, 5]], True),
        ([[0, 1], [1, 2], [2, 3]], False),  # its strides are counted in lanes
        ([0, 1, 2], False),
        ([0, 1, 2, 3, 4, 5], False),
    ],
)
def test_lanes_may_be_one_more_axis(values: Any, right: bool) -> None:
    (given,) = (each for each in GIVEN if each.case == "lanes2")
    held, observed = corpus_checks.right_content(Import(ra.asarray(values, dtype="float32")), given)
    assert held == right and "dtype (2, 32, 1)" in observed
