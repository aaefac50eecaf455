"""The standard's special cases of complex functions, typed by hand: a b -> real imaginary.

Words as in real_cases; ~ before a result: its sign is unspecified. "inf*cis" is an infinity with
the signs of cos(b) and sin(b), "0*cis" a zero with them. The rows have b >= 0 and, except for
exp, expm1, the logarithms, sqrt, acos and acosh, a >= 0: the others follow by symmetry.
"""

from __future__ import annotations

CASES = {
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
