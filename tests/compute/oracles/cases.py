"""Reads the tables of special cases: words for operands and results become numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from oracles.checks import same
from oracles.complex_cases import CASES, EVEN, ODD, TURNED
from oracles.formats import COMPONENT, FORMATS, rounded

PI = math.pi
ANGLES = {"pi": PI, "pi/2": PI / 2, "pi/4": PI / 4, "3pi/4": 3 * PI / 4}
NUMBERS = {
    "+0": 0.0,
    "-0": -0.0,
    "+inf": math.inf,
    "-inf": -math.inf,
    "nan": math.nan,
    "1": 1.0,
    "-1": -1.0,
}
PLAIN = (0.5, 1.0, 1.5, 2.0, 3.0, 100.0)


def words(dtype: str) -> dict[str, list[float]]:
    """The numbers that a word for an operand stands for."""
    form = FORMATS[dtype]
    extreme = [form.largest, form.smallest_normal, form.smallest]
    third = rounded(Fraction(1, 3), dtype)
    positive = [*PLAIN, third, *extreme]
    negative = [-each for each in positive]
    zeros, infinities = [0.0, -0.0], [math.inf, -math.inf]
    nonzero = [*positive, *negative]
    finite, number = [*zeros, *nonzero], [*zeros, *nonzero, *infinities]
    odd, even = [1.0, 3.0, 11.0], [2.0, 4.0, 0.5, 2.5, form.largest]
    return {
        **{name: [value] for name, value in NUMBERS.items()},
        "0": zeros,
        "inf": infinities,
        "pos": positive,
        "neg": negative,
        "nonzero": nonzero,
        "fin": finite,
        "number": number,
        "any": [*number, math.nan],
        ">0": [*positive, math.inf],
        "<0": [*negative, -math.inf],
        "odd": odd,
        "-odd": [-each for each in odd],
        "even": even,
        "-even": [-each for each in even],
        "frac": [0.5, -2.5, third],
        ">1": [1.5, -2.0, form.largest, -form.largest, math.inf, -math.inf],
        "<1": [0.0, -0.0, 0.5, -third, form.smallest],
        "|1|": [1.0, -1.0],
        "not1": [each for each in [*number, math.nan] if each != 1],
        "above1": [1.5, 1 + 2.0 ** (1 - form.precision), form.largest, math.inf],
        "below-1": [-1.5, -1 - 2.0 ** (1 - form.precision), -form.largest, -math.inf],
        "below1": [0.5, 0.0, -0.0, -1.0, -form.largest, -math.inf],
        "whole": [1.0, -1.0, 2.0, -100.0, form.largest, -form.largest],
    }


class Wanted(NamedTuple):
    """A number, whether its sign is free, whether only its sign counts, and its tolerance."""

    value: float
    free_sign: bool = False
    only_sign: bool = False
    close: bool = False

    def negative(self) -> Wanted:
        return self._replace(value=-self.value)

    def admits(self, got: float, dtype: str) -> bool:
        if self.only_sign:
            return not math.isnan(got) and math.copysign(1, got) == math.copysign(1, self.value)
        if self.free_sign:
            got = math.copysign(got, self.value)
        if self.close:
            return abs(got - self.value) <= abs(self.value) * 2.0 ** (2 - FORMATS[dtype].precision)
        return same(got, self.value)


def result(word: str, operands: tuple[float, ...]) -> Wanted:
    if word.startswith("~"):
        return result(word[1:] if word[1:] != "inf" else "+inf", operands)._replace(free_sign=True)
    bare = word.removeprefix("-")
    if word == "0":
        return Wanted(0.0)
    if bare in ANGLES:
        return Wanted(-ANGLES[bare] if bare != word else ANGLES[bare], close=True)
    if word in ("pos", "neg"):
        return Wanted(1.0 if word == "pos" else -1.0, only_sign=True)
    operand = {"x1": operands[0], "|x1|": abs(operands[0]), "-|x1|": -abs(operands[0])}
    if len(operands) > 1:
        operand |= {"x2": operands[1], "|x2|": abs(operands[1])}
    return Wanted(operand[word] if word in operand else NUMBERS[word])


def real_rows(table: str) -> Iterator[list[str]]:
    for row in table.replace("\n", " | ").split(" | "):
        if row.strip():
            yield row.split()


def real_cases(table: str, dtype: str) -> Iterator[tuple[tuple[float, ...], Wanted]]:
    """Operands and results of a function's special cases."""
    lookup = words(dtype)
    for first, *rest in real_rows(table):
        for x1 in lookup[first]:
            if len(rest) == 1:
                yield (x1,), result(rest[0], (x1,))
                continue
            for x2 in lookup[rest[0]]:
                yield (x1, x2), result(rest[1], (x1, x2))


Case = tuple[float, float, Wanted, Wanted]


def cis(word: str, b: float) -> tuple[Wanted, Wanted]:
    size = math.inf if word.startswith("inf") else 0.0
    real, imag = math.copysign(size, math.cos(b)), math.copysign(size, math.sin(b))
    return Wanted(-1.0 if word.endswith("-1") else real), Wanted(imag)


def typed_cases(name: str, dtype: str) -> Iterator[Case]:
    lookup = words(COMPONENT[dtype])
    for a_word, b_word, _, *results in real_rows(CASES[name]):
        for a in lookup[a_word]:
            for b in lookup[b_word]:
                if len(results) == 1:
                    yield a, b, *cis(results[0], b)
                else:
                    yield a, b, result(results[0], (a,)), result(results[1], (b,))


def symmetric(name: str, case: Case) -> Iterator[Case]:
    """The case, its conjugate, and for odd and even functions the negated ones."""
    a, b, real, imag = case
    yield case
    if name == "sign":
        return
    yield a, -b, real, imag.negative()
    if name in ODD:
        yield -a, -b, real.negative(), imag.negative()
        yield -a, b, real.negative(), imag
    if name in EVEN:
        yield -a, -b, real, imag
        yield -a, b, real, imag.negative()


def complex_cases(name: str, dtype: str) -> Iterator[Case]:
    if name in TURNED:
        inner, divided = TURNED[name]
        for p, q, real, imag in complex_cases(inner, dtype):
            yield (q, -p, imag, real.negative()) if divided else (q, -p, real, imag)
    elif name in ("log2", "log10"):
        scale = 1 / math.log(2 if name == "log2" else 10)
        for a, b, real, imag in complex_cases("log", dtype):
            scaled = imag._replace(value=imag.value * scale) if imag.close else imag
            yield a, b, real, scaled
    else:
        for case in typed_cases(name, dtype):
            yield from symmetric(name, case)


COMPLEX_NAMES = (*CASES, *TURNED, "log2", "log10")
