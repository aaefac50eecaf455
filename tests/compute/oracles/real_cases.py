"""The standard's special cases of real functions, typed by hand: one row for each case.

A row has the operands and the result. Words for operands: +0 -0 0 (either zero), +inf -inf inf,
nan, pos neg (finite), fin (finite), nonzero (finite), >0 <0 (with infinity), any (with NaN),
number (not NaN), odd -odd (odd integers), even -even (finite, not odd), frac (no integer),
>1 (magnitude above 1), <1 (magnitude below 1), 1 (itself), |1| (1 or -1), not1.
Words for results: those numbers, x1, x2, |x2|, |x1|, pi/2 and so on,
pos or neg (any number with that sign).
"""

from __future__ import annotations

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
    "divide": """
nan any nan | any nan nan | inf inf nan | 0 0 nan
+0 >0 +0 | -0 >0 -0 | +0 <0 -0 | -0 <0 +0
>0 +0 +inf | >0 -0 -inf | <0 +0 -inf | <0 -0 +inf
+inf pos +inf | +inf neg -inf | -inf pos -inf | -inf neg +inf
pos +inf +0 | pos -inf -0 | neg +inf -0 | neg -inf +0
pos pos pos | neg neg pos | pos neg neg | neg pos neg
""",
    "floor_divide": """
nan any nan | any nan nan | inf inf nan | 0 0 nan
+0 >0 +0 | -0 >0 -0 | +0 <0 -0 | -0 <0 +0
>0 +0 +inf | >0 -0 -inf | <0 +0 -inf | <0 -0 +inf
+inf pos +inf | +inf neg -inf | -inf pos -inf | -inf neg +inf
pos +inf +0 | pos -inf -0 | neg +inf -0 | neg -inf +0
pos pos pos | neg neg pos | pos neg neg | neg pos neg
""",
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
