"""A conformance check: one case of one requirement, the function that tries it, and its result."""

from __future__ import annotations

import dis
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, update_wrapper
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from refarray.conformance.requirements import Level, Role

Function = TypeVar("Function", bound=Callable[..., "CheckResult"])


class NotApplicable(Exception):
    """The subject lacks something that the case needs. The message names it."""


@dataclass(frozen=True, slots=True)
class AtExit:
    """Deleter calls that may still come, at a thread's end or the interpreter's exit. The kit's
    tensors from number `first` on have to be deleted `count` times by then."""

    first: int
    count: int
    late: bool = True
    """The calls were due before: if they come at exit, the result is a HAZARD, no breach."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one case: whether the requirement held, the evidence, and a repro."""

    held: bool | None
    """None: not applicable; `observed` says what the subject lacks."""
    observed: str
    repro: str
    parts: Mapping[str, CheckResult] = field(default_factory=dict)
    """The results of the checks that are `part_of` this one, by name: one trial serves them all,
    and each is judged by itself."""
    level: Level | None = None
    """As Check.level, where the level depends on the observation."""
    wrong: str = ""
    """An expression over `saw`, what the repro prints: true if the requirement is broken."""
    at_exit: AtExit | None = None
    """If set, `held` is provisional: the process exits, and the deleter calls decide."""
    harm: str = ""
    """One of HARMS, if `held` is false and the data was wrong, was freed twice, or was freed while
    it was in use: such a result is a failure at every level."""


WRONG_DATA, DOUBLE_FREE, FREED = "wrong data", "double free", "freed memory"
HARMS = (WRONG_DATA, DOUBLE_FREE, FREED)
"""What a broken requirement may do besides a crash, an abort or a hang."""


def add_harm(result: CheckResult, harm: str) -> CheckResult:
    """The result, with the harm if the requirement does not hold."""
    return replace(result, harm=harm) if result.held is False else result


@dataclass(frozen=True, slots=True)
class Check:
    """One case of one requirement. `probe` tries it."""

    id: str
    case: str
    role: Role
    expected: str
    probe: Callable[[Any], CheckResult]
    """Called with the Producer, Consumer or Pair of the subject."""
    risky: bool = False
    """The case may crash or hang the subject, so it runs in a child process of its own."""
    full: bool = False
    """The case runs with --full only."""
    part_of: str = ""
    """The name of the check whose trial also decides this one (CheckResult.parts)."""
    after: str = ""
    """The name of a check that tries the same on a plain array. If that crashes or hangs, so would
    this one, and it does not apply."""
    level: Level | None = None
    """A weaker level than the requirement's, where the texts ask less of this case."""
    exits: bool = False
    """The process shuts the interpreter down after the case; how it exits is part of the result."""
    devices: bool = False
    """The case needs a device with streams, and runs in a process that has loaded its driver."""
    provoked: str = ""
    """What of the input provokes a crash or a hang: "shape ends at a page without access". Empty
    where the input is valid."""
    same_as: tuple[str, ...] = ()
    """The names of checks that show the same mistake more directly: if one of them fails, a failure
    of this one has that cause."""
    rules: str = "2026.1"
    """The first rule set with the case (profiles.RULES)."""

    @property
    def name(self) -> str:
        """The unique name, which is also pytest's: "VERS-05[producer-future-major]"."""
        return f"{self.id}[{self.role}-{self.case}]"


# --- whose exception is it?

_MARK = "__raised_by_subject__"
kit_failures: list[str] = []
"""Tracebacks of kit_callback blocks that failed during the current case."""


class Evidence(Exception):
    """What the kit's own code raises because of what the subject gave it."""


class subject_code:
    """`with subject_code():` marks exceptions that leave the block as raised by the subject, unless
    a function of the kit raised them that the block called.

    Every call into the subject runs in such a block, or in a `try` that records the exception.
    An unmarked exception that leaves a probe is a bug of the kit (Outcome.ERROR).
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Not a @contextmanager: contextlib assigns to attributes of the exception, and the
        subject's class may forbid that."""
        if not isinstance(error, Exception) or isinstance(error, NotApplicable):
            return
        inner = list_frames(error)[1:]  # without that of the block
        if isinstance(error, Evidence) or not inner or not is_of_kit(inner[-1]):
            attributes(error)[_MARK] = True
            note_raised(error)


@contextmanager
def kit_callback() -> Iterator[None]:
    """Notes exceptions that leave the block as the kit's own. For kit code that the subject calls,
    such as a producer's `__dlpack__`: the subject may swallow or replace the exception."""
    try:
        yield
    except Exception:
        kit_failures.append(traceback.format_exc())
        raise


KIT = str(Path(__file__).parent)
raised: dict[str, str] = {}
"""The exceptions of the subject in the current case: type and text → where each was raised."""


def list_frames(error: BaseException) -> list[TracebackType]:
    """The entries of a traceback, the innermost last."""
    out, trace = [], error.__traceback__
    while trace is not None:
        out.append(trace)
        trace = trace.tb_next
    return out


def is_of_kit(entry: TracebackType) -> bool:
    return entry.tb_frame.f_code.co_filename.startswith(KIT)


def note_raised(error: BaseException) -> None:
    """Notes where the subject raised an exception: the line of a `raise`; the text, too, if native
    code raised it, which one line may call for several reasons."""
    passed = list_frames(error)
    if len(passed) > 1 and is_of_kit(passed[-1]):
        return  # the kit's own producer raised it, and the subject passed it on
    own = [each for each in passed if not each.tb_frame.f_code.co_filename.startswith((KIT, "<"))]
    text = place = describe_error(error)
    if own:
        code, last = own[-1].tb_frame.f_code, own[-1].tb_lasti
        place = f"{code.co_filename}:{own[-1].tb_lineno}"
        if not dis.opname[code.co_code[last]].startswith(("RAISE", "RERAISE")):
            place += f", {text}"
    raised[text] = place


def origin(observed: str) -> str:
    """Where the exception was raised that an observation shows; empty if it shows none."""
    return next((place for text, place in raised.items() if text in observed), "")


def describe_error(error: BaseException) -> str:
    """An exception as reports show it: one line, the message cut after 160 characters."""
    try:
        text = " ".join(str(error).split())
    except Exception as another:
        text = f"(its str() raises {type(another).__name__})"
    return (
        f"{type(error).__name__}: {text[:160]}{'…' if len(text) > 160 else ''}"
        if text
        else type(error).__name__
    )


def is_raised_by_subject(error: BaseException) -> bool:
    """Whether the exception left a subject_code block."""
    return _MARK in attributes(error)


def attributes(error: BaseException) -> dict[str, Any]:
    """The attributes of an exception, also of a class that overrides attribute access."""
    out: dict[str, Any] = object.__getattribute__(error, "__dict__")
    return out


# --- progress

announce: list[Callable[[str], None]] = []
"""Called with the repro of each step before it runs: the only trace of a case that crashes."""


def about(repro: str) -> None:
    """Announces the step that is about to run."""
    for listener in announce:
        listener(repro)


# --- the register

CHECKS: dict[str, Check] = {}
"""Every check by its name, in the order of definition."""


def check(
    name: str,
    case: str,
    expected: str,
    *,
    risky: bool = False,
    level: str = "",
    exits: bool = False,
    **more: Any,
) -> Callable[[Function], Function]:
    """Registers the decorated function as one case of the requirement `name`; `more` are further
    fields of Check. The decorator may be applied more than once. The role is the one that the
    folder of the function's module is named after (suite/)."""

    def register(probe: Function) -> Function:
        role = Role(probe.__module__.split(".")[-2].replace("_", "-"))
        weaker = Level(level) if level else None
        risk = risky or exits
        add(Check(name, case, role, expected, probe, risk, level=weaker, exits=exits, **more))
        return probe

    return register


def check_cases(
    name: str,
    cases: Mapping[str, Any] | Iterable[str],
    expected: str,
    *,
    level: str | Mapping[str, str] = "",
    provoked: str = "",
    same_as: str = "",
    **more: Any,
) -> Callable[[Function], Function]:
    """Registers the decorated function as several cases of one requirement.

    `cases` maps each case to the value that is passed as the function's second argument; in a list
    of cases the value is the case. `expected` and `provoked` are format strings over `case` and
    `value`. `level` may name the level of single cases. `same_as` is one, too; `more` as for
    check().
    """

    def register(probe: Function) -> Function:
        rows = cases if isinstance(cases, Mapping) else {case: case for case in cases}
        for case, value in rows.items():
            check(
                name,
                case,
                expected.format(case=case, value=value),
                level=level if isinstance(level, str) else level.get(case, ""),
                provoked=provoked.format(case=case, value=value),
                same_as=(same_as.format(case=case, value=value),) if same_as else (),
                **more,
            )(update_wrapper(partial(probe_with, probe, value), probe))
        return probe

    return register


def probe_with(probe: Callable[..., CheckResult], value: Any, subject: Any) -> CheckResult:
    """Runs a probe of check_cases with the value of its case."""
    return probe(subject, value)


def add(made: Check) -> Check:
    """Registers a check. ValueError when the name is taken."""
    if made.name in CHECKS:
        raise ValueError(f"{made.name} is defined twice")
    CHECKS[made.name] = made
    return made
