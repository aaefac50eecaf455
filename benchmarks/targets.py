"""Targets of the cases as data, and the verdict on a measurement."""

from __future__ import annotations

from dataclasses import dataclass

from .timing import Interval, Samples, excess, ratio

UNIT = "no-op"
OURS = "refarray"


@dataclass(frozen=True)
class Target:
    """Ours must be at most `limit`, as `kind` says.

    units:  ours / no-op call        ratio: ours / contender `against`
    excess: (ours - `against`) / no-op call        value: the figure itself
    """

    kind: str
    limit: float
    against: str = UNIT

    def describe(self) -> str:
        if self.kind == "units":
            return f"<= {self.limit:g} U"
        if self.kind == "ratio":
            return f"<= {self.limit:g} x {self.against}"
        if self.kind == "excess":
            return f"<= {self.against} + {self.limit:g} U"
        return f"<= {self.limit:g}"

    def measure(self, samples: Samples) -> Interval:
        if self.kind == "excess":
            return excess(samples, OURS, self.against, UNIT)
        return ratio(samples, OURS, self.against)


@dataclass(frozen=True)
class Verdict:
    """A target with its measurement."""

    target: Target
    measured: Interval

    @property
    def met(self) -> bool:
        return self.measured.value <= self.target.limit

    @property
    def margin(self) -> float:
        """Remaining percentage of the limit; negative if the target is missed."""
        if self.target.limit == 0:
            return 0.0 if self.met else -100.0
        return 100.0 * (self.target.limit - self.measured.value) / self.target.limit

    def describe(self) -> str:
        word = "met" if self.met else "MISSED"
        return f"{self.target.describe()}: {word} {self.margin:+.0f} %"

    def as_json(self) -> dict[str, object]:
        return {
            "target": self.target.describe(),
            "measured": self.measured.as_json(),
            "met": self.met,
            "margin_percent": round(self.margin, 1),
        }
