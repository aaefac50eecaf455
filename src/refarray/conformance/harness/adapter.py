"""Tries an adapter before it accuses: each expression has to run and to give what it promises.

An expression that fails is dropped, and is a mistake of the adapter. Where the library's own words
agree with the adapter, and the export does not, nothing is dropped: the checks report the library.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from refarray.conformance.cases import NotApplicable, about, describe_error
from refarray.conformance.dlpack import HOST_READABLE
from refarray.conformance.findings import Dropped
from refarray.conformance.harness import memory
from refarray.conformance.harness.consumer import Consumer, Given, Import
from refarray.conformance.harness.memory import Unreadable
from refarray.conformance.harness.producer import VERSIONED, Producer
from refarray.conformance.harness.statement import equal, read_shape, read_values
from refarray.conformance.subjects import promises
from refarray.conformance.subjects.subject import KINDS, Subject

KIT = str(Path(__file__).parents[1])
SENT: tuple[dict[str, Any], ...] = tuple(
    {"shape": shape, "dtype": dtype, "data": bytes(96), "versioned": versioned}
    for shape in ((6,), (2, 3), (2, 2, 3))
    for dtype in ((2, 32, 1), (2, 64, 1), (0, 64, 1), (0, 32, 1), (1, 8, 1))
    for versioned in (True, False)
)
"""Plain tensors: a from_dlpack works if it takes one of them."""


class Wrong(Exception):
    """An expression does not give what it promises."""


class AdapterTrial:
    """Tries the expressions of one adapter, each by itself. `skip` names parts that crashed."""

    def __init__(self, producer: Producer, consumer: Consumer, skip: Collection[str] = ()) -> None:
        self.producer = producer
        self.consumer = consumer
        self.subject: Subject = producer.subject
        self.skip = skip
        self.dropped: list[Dropped] = []

    def run(self) -> list[Dropped]:
        """What has to be dropped, in the order of Subject's fields."""
        subject = self.subject
        for kind, text in subject.arrays.items():
            self.attempt(f"arrays[{kind!r}]", text, partial(self.try_kind, kind))
        if "plain" in subject.arrays and not self.has_failed("arrays['plain']"):
            text = f"{subject.arrays['plain']}.__dlpack__()"
            self.attempt("arrays['plain']", text, self.try_export, exchange=True)
        for name, expression in (("values", subject.values), ("strides", subject.strides)):
            if expression and not self.has_failed("arrays['plain']"):
                self.attempt(name, expression, partial(self.try_words, name))
        for name in ("dtype", "ramp"):
            if getattr(subject, name):
                self.attempt(name, getattr(subject, name), partial(self.try_dtypes, name))
        if subject.big:
            self.attempt("big", subject.big, partial(self.evaluate, subject.big.format(8)))
        for name, sub in subject.subbyte.items():
            self.attempt(f"subbyte[{name!r}]", sub.text, partial(self.evaluate, sub.text))
        if subject.from_dlpack:
            self.attempt("from_dlpack", subject.from_dlpack, self.try_import, exchange=True)
        return self.dropped

    def has_failed(self, part: str) -> bool:
        return part in self.skip or any(each.part == part for each in self.dropped)

    def attempt(
        self, part: str, text: str, work: Callable[[], object], exchange: bool = False
    ) -> None:
        """Runs one step. Its announcement names it if the process dies; in an exchange that is no
        mistake of the adapter, and the checks report it."""
        step = f"{part} exchanged" if exchange else part
        if step in self.skip or part in self.skip:
            return
        about(json.dumps({"step": step, "part": part, "expression": text, "exchange": exchange}))
        try:
            work()
        except Wrong as error:
            self.drop(part, text, str(error), locate(self.subject, text))
        except Exception as error:
            place = locate(self.subject, text, error)
            self.drop(part, text, describe_error(error), place, self.subject.versions_differ)

    def drop(self, part: str, text: str, why: str, place: str, lacks: bool = False) -> None:
        if not self.has_failed(part):
            self.dropped.append(Dropped(part, text, why, place, mistake=not lacks))

    def evaluate(self, text: str, **names: Any) -> Any:
        return eval(text, {**self.producer.namespace, **names})

    # --- arrays

    def try_kind(self, kind: str) -> None:
        """Makes an array, and compares what the library says of it with what the kind promises."""
        if kind not in KINDS:
            raise Wrong("there is no such kind; see refarray.conformance.subjects.subject.KINDS")
        if kind in self.subject.states:
            exec(self.subject.states[kind], self.producer.namespace)
        array = self.evaluate(self.subject.arrays[kind])
        if kind == "second-device":
            self.try_other_device(array)
        dtype = promises.dtype_named(array)
        if kind in promises.VALUES and kind not in {"empty", "empty2"} and dtype:
            require(dtype == "float32", kind, f"the array's dtype is {array.dtype}, not float32")
        shape = promises.ONE_VALUE.get(kind, memory.extents(promises.VALUES.get(kind)))
        said = read_shape(array)
        if said is not None and (kind in promises.VALUES or kind in promises.ONE_VALUE):
            require(said == shape, kind, f"the array's shape is {said}, not {shape}")
        if kind in promises.VALUES:
            self.compare_values(kind, array, promises.VALUES[kind])

    def compare_values(self, kind: str, array: Any, promised: Any) -> None:
        """Wrong if the library reads other values than promised, and exports them, too."""
        try:
            said = read_values(self.subject, self.producer.namespace, array, "float32")
        except NotApplicable:
            return
        if not equal(said, promised) and not equal(self.read_export(array), promised):
            raise Wrong(f"{KINDS[kind]} are promised; the array has {memory.brief(said)}")

    def try_other_device(self, array: Any) -> None:
        plain = self.evaluate(self.subject.arrays["plain"])
        devices = [getattr(each, "device", None) for each in (plain, array)]
        same = devices[0] is not None and devices[0] == devices[1]
        require(not same, "second-device", f"the array lies on {devices[1]}, as new arrays do")

    def read_export(self, array: Any) -> Any:
        """The elements that an array exports; None if they cannot be read."""
        for keywords in (VERSIONED, {}):
            try:
                capsule = type(array).__dlpack__(array, **keywords)
                fields = self.producer.read(capsule)
                if fields is not None and fields["device"][0] in HOST_READABLE:
                    return memory.tensor_values(fields)
            except (Exception, Unreadable):
                continue
        return None

    def try_export(self) -> None:
        """Exports the plain array in one of the ways. A class without __dlpack__ has none."""
        array = self.evaluate(self.subject.arrays["plain"])
        if not hasattr(type(array), "__dlpack__"):
            return
        errors = []
        for keywords in (VERSIONED, {}, {"stream": None}):
            try:
                type(array).__dlpack__(array, **keywords)
                return
            except Exception as error:
                errors.append(error)
        raise errors[0 if len({type(each) for each in errors}) == 1 else 1]

    # --- other expressions

    def try_words(self, name: str) -> None:
        """Evaluates `values` or `strides` of the plain array."""
        array = self.evaluate(self.subject.arrays["plain"])
        found = self.evaluate(getattr(self.subject, name).format("_array"), _array=array)
        if name == "strides":
            require(tuple(found) == (1,), "plain", f"strides {found} of a contiguous array")
            return
        promised = promises.VALUES["plain"]
        if not equal(found, promised) and equal(self.read_export(array), promised):
            raise Wrong(f"it gives {memory.brief(found)} for the values 0 to 5")

    def try_dtypes(self, name: str) -> None:
        """Makes an array of each dtype. One that raises is a dtype that the library lacks; all are
        a mistake, and so is an array of another dtype."""
        expression, made, error = getattr(self.subject, name), 0, None
        for dtype in self.subject.dtypes:
            try:
                array = self.evaluate(expression.format(dtype))
            except Exception as raised:
                error = raised
                continue
            made += 1
            named = promises.dtype_named(array)
            if named and named != dtype:
                raise Wrong(f"for {dtype} it gives an array of {named}")
            self.compare_dtype(name, dtype, array)
        if not made and error is not None:
            raise error

    def compare_dtype(self, name: str, dtype: str, array: Any) -> None:
        """Wrong if the library reads and exports other values than the expression promises."""
        promised = promises.values_of_dtype(dtype, name == "ramp")
        if promised is None or not dtype.startswith(("int", "uint", "float32", "float64")):
            return
        try:
            said = read_values(self.subject, self.producer.namespace, array, dtype)
        except NotApplicable:
            return
        if not equal(said, promised) and not equal(self.read_export(array), promised):
            raise Wrong(f"for {dtype} {memory.brief(promised)} is promised; {memory.brief(said)}")

    # --- the import

    def tensors(self) -> Iterator[Any]:
        """The plain tensors of the kit, then the library's own plain array."""
        yield from (Given(fields) for fields in SENT)
        if "plain" in self.subject.arrays and not self.has_failed("arrays['plain']"):
            yield self.evaluate(self.subject.arrays["plain"])

    def try_import(self) -> None:
        """Imports a plain tensor: one of the kit's, or the library's own."""
        first: BaseException | None = None
        for given in self.tensors():
            found = self.take(given)
            if found.error is None:
                if first is not None and not isinstance(given, Given):
                    why = f"it refuses every plain tensor of the kit: {describe_error(first)}"
                    raise Wrong(f"{why}; it imports only the library's own array")
                if not given.asked:
                    raise Wrong("it asks the producer for nothing: the import ignores its argument")
                self.try_another(given, found)
                return
            first = first or found.error
        assert first is not None
        if not isinstance(first, Exception):
            raise Wrong(f"the import of a plain tensor raises {describe_error(first)}")
        raise first

    def take(self, given: Any) -> Import:
        """Like Consumer.take, but an error in the expression itself is one of the import, too."""
        try:
            return Import(self.evaluate(self.subject.from_dlpack.format("_given"), _given=given))
        except BaseException as error:
            return Import(error=error)

    def try_another(self, given: Any, found: Import) -> None:
        """Wrong if a tensor of other values is imported as the same array. A carrier never reads
        them."""
        if not isinstance(given, Given) or self.subject.carrier:
            return
        other = self.take(Given({**given.fields, "data": b"\x3f" * 96}))
        if other.error is not None:
            return
        results = [self.read_import(each) for each in (found, other)]
        if results[0] is not None and equal(*results) and memory.elements(given.fields["shape"]):
            raise Wrong(f"tensors of different values are imported as {memory.brief(results[0])}")

    def read_import(self, found: Import) -> Any:
        try:
            return read_values(self.subject, self.producer.namespace, found.array, "float32")
        except NotApplicable:
            return self.read_export(found.array)


def require(held: bool, kind: str, observed: str) -> None:
    """Wrong unless it holds."""
    if not held:
        raise Wrong(f"{kind} promises {KINDS[kind]}; {observed}")


def locate(subject: Subject, text: str, error: Exception | None = None) -> str:
    """The line of an expression in the file of the adapter, and where its exception was raised."""
    file, _, line = subject.place.rpartition(":")
    place = subject.place
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for number in range(int(line or 1), len(lines) + 1):
        if text.removesuffix(".__dlpack__()") in lines[number - 1]:
            place = f"{file}:{number}"
            break
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    raised = [each for each in frames if not each.filename.startswith((KIT, "<"))]
    return f"{place}; raised in {raised[-1].filename}:{raised[-1].lineno}" if raised else place


def without(subject: Subject, parts: Collection[str]) -> dict[str, Any]:
    """The fields of a subject without the parts that were dropped."""
    arrays = {k: v for k, v in subject.arrays.items() if f"arrays[{k!r}]" not in parts}
    subbyte = {k: v for k, v in subject.subbyte.items() if f"subbyte[{k!r}]" not in parts}
    states = {k: v for k, v in subject.states.items() if k in arrays}
    texts = dict.fromkeys(
        {"dtype", "ramp", "values", "strides", "big", "from_dlpack"} & {*parts}, ""
    )
    return {"arrays": arrays, "subbyte": subbyte, "states": states, **texts}
