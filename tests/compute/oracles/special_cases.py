"""The standard's special cases of real and complex functions, typed by hand, and their reader.

A row has the operands and the result. Words for operands: +0 -0 0 (either zero), +inf -inf inf,
nan, pos neg (finite), fin (finite), nonzero (finite), >0 <0 (with infinity), any (with NaN),
number (not NaN), odd -odd (odd integers), even -even (finite, not odd), frac (no integer),
>1 (magnitude above 1), <1 (magnitude below 1), 1 (itself), |1| (1 or -1), not1.
Words for results: those numbers, x1, x2, |x2|, |x1|, pi/2 and so on,
pos or neg (any number with that sign).

Of complex functions: a b -> real imaginary. ~ before a result: its sign is unspecified. "inf*cis"
is an infinity with the signs of cos(b) and sin(b), "0*cis" a zero with them. The rows have b >= 0
and, except for exp, expm1, the logarithms, sqrt, acos and acosh, a >= 0: the others follow by
symmetry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from oracles.checks import same
from oracles.formats import COMPONENT, FORMATS, rounded

QUOTIENTS = """
nan any nan | any nan nan | inf inf nan | 0 0 nan
+0 >0 +0 | -0 >0 -0 | +0 <0 -0 | -0 <0 +0
>0 +0 +inf | >0 -0 -inf | <0 +0 -inf | <0 -0 +inf
+inf pos +inf | +inf neg -inf | -inf pos -inf | -inf neg +inf
pos +inf +0 | pos -inf -0 | neg +inf -0 | neg -inf +0
pos pos pos | neg neg pos | pos neg neg | neg pos neg
"""
BINARY_CASES = {
    "add": """
nan any nan | any nan nan | +inf -inf nan | -inf +inf nan | +inf +inf +inf | -inf -inf -inf
+inf fin +inf | -inf fin -inf | fin +inf +inf | fin -inf -inf
-0 -0 -0 | -0 +0 +0 | +0 -0 +0 | +0 +0 +0 | 0 nonzero x2 | nonzero 0 x1
""",
    "subtract": """
nan any nan | any nan nan | +inf +inf nan | -inf -inf nan | +inf -inf +inf | -inf +inf -inf
+inf fin +inf | -inf fin -inf | fin +inf -inf | fin -inf +inf
-0 +0 -0 | -0 -0 +0 | +0 +0 +0 | +0 -0 +0 | nonzero 0 x1
""",
    "multiply": """
nan any nan | any nan nan | inf 0 nan | 0 inf nan
+inf +inf +inf | +inf -inf -inf | -inf +inf -inf | -inf -inf +inf
+inf pos +inf | +inf neg -inf | -inf pos -inf | -inf neg +inf
pos +inf +inf | neg +inf -inf | pos -inf -inf | neg -inf +inf
+0 pos +0 | -0 pos -0 | +0 neg -0 | -0 neg +0 | pos -0 -0 | neg -0 +0 | -0 -0 +0 | +0 -0 -0
pos pos pos | neg neg pos | pos neg neg | neg pos neg
""",
    "divide": QUOTIENTS,
    "floor_divide": QUOTIENTS,
    "remainder": """
nan any nan | any nan nan | inf inf nan | 0 0 nan
+0 >0 +0 | -0 >0 +0 | +0 <0 -0 | -0 <0 -0 | >0 0 nan | <0 0 nan
inf pos nan | inf neg nan
pos +inf x1 | pos -inf x2 | neg +inf x2 | neg -inf x1
""",
    "pow": """
not1 nan nan | any 0 1 | nan nonzero nan | nan inf nan
>1 +inf +inf | >1 -inf +0 | |1| inf 1 | 1 number 1 | <1 +inf +0 | <1 -inf +inf
+inf >0 +inf | +inf <0 +0
-inf odd -inf | -inf even +inf | -inf +inf +inf | -inf -odd -0 | -inf -even +0 | -inf -inf +0
+0 >0 +0 | +0 <0 +inf
-0 odd -0 | -0 even +0 | -0 +inf +0 | -0 -odd -inf | -0 -even +inf | -0 -inf +inf
neg frac nan
""",
    "atan2": """
nan any nan | any nan nan | >0 0 pi/2 | <0 0 -pi/2
+0 >0 +0 | +0 +0 +0 | +0 -0 pi | +0 <0 pi | -0 >0 -0 | -0 +0 -0 | -0 -0 -pi | -0 <0 -pi
pos +inf +0 | pos -inf pi | neg +inf -0 | neg -inf -pi | +inf fin pi/2 | -inf fin -pi/2
+inf +inf pi/4 | +inf -inf 3pi/4 | -inf +inf -pi/4 | -inf -inf -3pi/4
""",
    "hypot": """
inf any +inf | any inf +inf | 0 number |x2| | number 0 |x1| | fin nan nan | nan fin nan
nan nan nan
""",
    "logaddexp": """
nan any nan | any nan nan | +inf number +inf | number +inf +inf | -inf -inf -inf
""",
    "copysign": """
number <0 -|x1| | number -0 -|x1| | number +0 |x1| | number >0 |x1| | nan any nan
""",
    "nextafter": """
nan any nan | any nan nan | -0 +0 +0 | +0 -0 -0
""",
    "maximum": "nan any nan | any nan nan | +inf number +inf | number +inf +inf | -inf fin x2",
    "minimum": "nan any nan | any nan nan | -inf number -inf | number -inf -inf | +inf fin x2",
}

UNARY_CASES = {
    "abs": "nan nan | -0 +0 | +0 +0 | -inf +inf | +inf +inf",
    "acos": "nan nan | above1 nan | below-1 nan | 1 +0",
    "acosh": "nan nan | below1 nan | 1 +0 | +inf +inf",
    "asin": "nan nan | above1 nan | below-1 nan | +0 +0 | -0 -0",
    "asinh": "nan nan | +0 +0 | -0 -0 | +inf +inf | -inf -inf",
    "atan": "nan nan | +0 +0 | -0 -0 | +inf pi/2 | -inf -pi/2",
    "atanh": "nan nan | below-1 nan | above1 nan | -1 -inf | 1 +inf | +0 +0 | -0 -0",
    "ceil": "whole x1 | inf x1 | 0 x1 | nan nan",
    "cos": "nan nan | 0 1 | inf nan",
    "cosh": "nan nan | 0 1 | inf +inf",
    "exp": "nan nan | 0 1 | +inf +inf | -inf +0",
    "expm1": "nan nan | +0 +0 | -0 -0 | +inf +inf | -inf -1",
    "floor": "whole x1 | inf x1 | 0 x1 | nan nan",
    "log": "nan nan | <0 nan | 0 -inf | 1 +0 | +inf +inf",
    "log10": "nan nan | <0 nan | 0 -inf | 1 +0 | +inf +inf",
    "log1p": "nan nan | below-1 nan | -1 -inf | -0 -0 | +0 +0 | +inf +inf",
    "log2": "nan nan | <0 nan | 0 -inf | 1 +0 | +inf +inf",
    "negative": "+0 -0 | -0 +0 | +inf -inf | -inf +inf | nan nan",
    "positive": "0 x1 | inf x1 | nan nan",
    "reciprocal": "+0 +inf | -0 -inf | +inf +0 | -inf -0 | nan nan",
    "round": "whole x1 | inf x1 | 0 x1 | nan nan",
    "sign": "<0 -1 | 0 +0 | >0 1 | nan nan",
    "sin": "nan nan | +0 +0 | -0 -0 | inf nan",
    "sinh": "nan nan | +0 +0 | -0 -0 | +inf +inf | -inf -inf",
    "sqrt": "nan nan | <0 nan | +0 +0 | -0 -0 | +inf +inf",
    "square": "0 +0 | inf +inf | nan nan",
    "tan": "nan nan | +0 +0 | -0 -0 | inf nan",
    "tanh": "nan nan | +0 +0 | -0 -0 | +inf 1 | -inf -1",
    "trunc": "whole x1 | inf x1 | 0 x1 | nan nan",
}


COMPLEX_CASES = {
    "acos": """
0 +0 -> pi/2 -0 | 0 nan -> pi/2 nan | fin +inf -> pi/2 -inf | nonzero nan -> nan nan
-inf pos -> pi -inf | +inf pos -> +0 -inf | -inf +inf -> 3pi/4 -inf | +inf +inf -> pi/4 -inf
inf nan -> nan ~inf | nan fin -> nan nan | nan +inf -> nan -inf | nan nan -> nan nan
""",
    "acosh": """
0 +0 -> +0 pi/2 | fin +inf -> +inf pi/2 | nonzero nan -> nan nan | +0 nan -> nan ~pi/2
-inf pos -> +inf pi | +inf pos -> +inf +0 | -inf +inf -> +inf 3pi/4 | +inf +inf -> +inf pi/4
inf nan -> +inf nan | nan fin -> nan nan | nan +inf -> +inf nan | nan nan -> nan nan
""",
    "asinh": """
+0 +0 -> +0 +0 | pos +inf -> +inf pi/2 | fin nan -> nan nan | +inf pos -> +inf +0
+inf +inf -> +inf pi/4 | nan +0 -> nan +0 | nan nonzero -> nan nan | nan +inf -> ~inf nan
nan nan -> nan nan
""",
    "atanh": """
+0 +0 -> +0 +0 | +0 nan -> +0 nan | 1 +0 -> +inf +0 | pos +inf -> +0 pi/2
nonzero nan -> nan nan | +inf pos -> +0 pi/2 | +inf +inf -> +0 pi/2 | +inf nan -> +0 nan
nan fin -> nan nan | nan +inf -> ~0 pi/2 | nan nan -> nan nan
""",
    "cosh": """
+0 +0 -> 1 +0 | +0 +inf -> nan ~0 | +0 nan -> nan ~0 | nonzero +inf -> nan nan
nonzero nan -> nan nan | +inf +0 -> +inf +0 | +inf nonzero -> inf*cis | +inf +inf -> ~inf nan
+inf nan -> +inf nan | nan 0 -> nan ~0 | nan nonzero -> nan nan | nan nan -> nan nan
""",
    "exp": """
0 +0 -> 1 +0 | fin +inf -> nan nan | fin nan -> nan nan | +inf +0 -> +inf +0
-inf fin -> 0*cis | +inf nonzero -> inf*cis | -inf +inf -> ~0 ~0 | +inf +inf -> ~inf nan
-inf nan -> ~0 ~0 | +inf nan -> ~inf nan | nan +0 -> nan +0 | nan nonzero -> nan nan
nan inf -> nan nan | nan nan -> nan nan
""",
    "expm1": """
0 +0 -> +0 +0 | fin +inf -> nan nan | fin nan -> nan nan | +inf +0 -> +inf +0
-inf fin -> 0*cis-1 | +inf nonzero -> inf*cis | -inf +inf -> -1 ~0 | +inf +inf -> ~inf nan
-inf nan -> -1 ~0 | +inf nan -> ~inf nan | nan +0 -> nan +0 | nan nonzero -> nan nan
nan inf -> nan nan | nan nan -> nan nan
""",
    "log": """
-0 +0 -> -inf pi | +0 +0 -> -inf +0 | fin +inf -> +inf pi/2 | fin nan -> nan nan
-inf pos -> +inf pi | +inf pos -> +inf +0 | -inf +inf -> +inf 3pi/4 | +inf +inf -> +inf pi/4
inf nan -> +inf nan | nan fin -> nan nan | nan +inf -> +inf nan | nan nan -> nan nan
""",
    "log1p": """
-1 +0 -> -inf +0 | fin +inf -> +inf pi/2 | fin nan -> nan nan | -inf pos -> +inf pi
+inf pos -> +inf +0 | -inf +inf -> +inf 3pi/4 | +inf +inf -> +inf pi/4 | inf nan -> +inf nan
nan fin -> nan nan | nan +inf -> +inf nan | nan nan -> nan nan
""",
    "sinh": """
+0 +0 -> +0 +0 | +0 +inf -> ~0 nan | +0 nan -> ~0 nan | pos +inf -> nan nan | pos nan -> nan nan
+inf +0 -> +inf +0 | +inf pos -> inf*cis | +inf +inf -> ~inf nan | +inf nan -> ~inf nan
nan +0 -> nan +0 | nan nonzero -> nan nan | nan nan -> nan nan
""",
    "sqrt": """
0 +0 -> +0 +0 | any +inf -> +inf +inf | fin nan -> nan nan | -inf pos -> +0 +inf
+inf pos -> +inf +0 | -inf nan -> nan ~inf | +inf nan -> +inf nan | nan fin -> nan nan
nan nan -> nan nan
""",
    "tanh": """
+0 +0 -> +0 +0 | nonzero +inf -> nan nan | +0 +inf -> +0 nan | nonzero nan -> nan nan
+0 nan -> +0 nan | +inf pos -> 1 +0 | +inf +inf -> 1 ~0 | +inf nan -> 1 ~0 | nan +0 -> nan +0
nan nonzero -> nan nan | nan +inf -> nan nan | nan nan -> nan nan
""",
    "sign": "0 0 -> +0 +0 | nan any -> nan nan | any nan -> nan nan",
}
#: f(-x) is f(x) for even functions and -f(x) for odd ones.
ODD = ("asinh", "atanh", "sinh", "tanh")
EVEN = ("cosh",)
#: name: (function, whether it is divided by 1j): f(x) is g(1j * x) or -1j * g(1j * x).
TURNED = {
    "asin": ("asinh", True),
    "atan": ("atanh", True),
    "sin": ("sinh", True),
    "tan": ("tanh", True),
    "cos": ("cosh", False),
}


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
    for a_word, b_word, _, *results in real_rows(COMPLEX_CASES[name]):
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


COMPLEX_NAMES = (*COMPLEX_CASES, *TURNED, "log2", "log10")
