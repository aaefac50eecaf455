"""A: the exchange, one call from Python, in units of a call that does nothing."""

from __future__ import annotations

import functools
import math
import subprocess
from collections.abc import Callable, Iterator

from . import producers
from .environment import PARTNERS, Environment
from .measure import OURS, UNIT, Absent, Case, Statement, Target

SECONDS = 1.0
MAX_VERSION, LEGACY_VERSION = (1, 3), (0, 8)
SHAPES: dict[str, tuple[int, ...]] = {
    "": (16,),
    " 0-d": (),
    " size-1": (1, 16, 1),
    " 4-d": (2, 2, 2, 2),
    " 8-d": (2, 1, 2, 1, 2, 1, 2, 1),
}
ASKED = "numpy.from_dlpack + `__dlpack_device__`"
Statements = dict[str, Statement]


def call(function: object, argument: object, keywords: str = "", **names: object) -> Statement:
    return Statement(f"f(x{keywords})", {"f": function, "x": argument, **names})


def method(argument: object, code: str) -> Statement:
    return Statement(f"x.{code}", {"x": argument})


def unit_statement(environment: Environment) -> Statement:
    """The unit U: one call of a METH_O C function, loop included."""
    return Statement("f(x)", {"f": environment.native._noop, "x": None})


class Arrays:
    """The same float32 elements as an array of each installed library: one in the 0-d variant, 16
    in every other shape."""

    def __init__(self, environment: Environment, shape: tuple[int, ...]) -> None:
        self.environment, self.refarray = environment, environment.refarray
        self.native = environment.native
        count = math.prod(shape)
        self.own = self.refarray.reshape(self.refarray.arange(count, dtype="float32"), shape)
        make: dict[str, Callable[..., object]] = {
            "numpy": lambda np: np.arange(count, dtype="float32").reshape(shape),
            "torch": lambda torch: torch.arange(count, dtype=torch.float32).reshape(shape),
            "tvm_ffi": lambda ffi: ffi.from_dlpack(self.by_partner["numpy"].copy()),
            "jax": lambda jax: jax.numpy.arange(count, dtype="float32").reshape(shape),
        }
        self.by_partner: dict[str, object] = {}
        for name in make:
            if environment.has("numpy", name):
                self.by_partner[name] = make[name](environment.partners[name])

    def of(self, name: str) -> object:
        if name not in self.by_partner:
            raise Absent(self.environment.absent[name if name in PARTNERS else "numpy"])
        return self.by_partner[name]

    def importers(self, source: object, names: tuple[str, ...]) -> Statements:
        """`X.from_dlpack(source)` for each installed partner X."""
        found = {}
        for name in names:
            if name in self.environment.partners:
                module = self.environment.partners[name]
                function = module.dlpack.from_dlpack if name == "jax" else module.from_dlpack
                found[f"{name}.from_dlpack"] = call(function, source)
        return found

    def asked(self, source: object) -> Statements:
        """numpy.from_dlpack(source), and a call of `source.__dlpack_device__`."""
        if "numpy" not in self.environment.partners:
            return {}
        function = self.environment.partners["numpy"].from_dlpack
        return {ASKED: Statement("f(x); x.__dlpack_device__()", {"f": function, "x": source})}

    def own_importers(self, names: tuple[str, ...]) -> Statements:
        """Each partner importing its own array."""
        found: Statements = {}
        for name in names:
            if name in self.by_partner:
                importers = self.importers(self.by_partner[name], (name,))
                found.update({f"{key}(own)": value for key, value in importers.items()})
        return found


Build = Callable[[Arrays], Statements]


class Setup:
    """Makes the statements of a case."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.arrays = functools.cache(functools.partial(Arrays, environment))

    def statements(self, case: Case) -> Statements:
        shape, build = case.given
        return {UNIT: unit_statement(self.environment), **build(self.arrays(shape))}


def cases() -> Iterator[Case]:
    for suffix, shape in SHAPES.items():
        yield from _imports(suffix, shape)
    yield from _partner_imports()
    yield from _exports()
    yield from _options()
    for name, title in producers.TITLES.items():
        target = (Target(3.0, ASKED, above=True),)
        yield _case(f"A16 {name}", f"from_dlpack({title})", target, _of_producer(name))


def _case(
    id_: str, title: str, targets: tuple[Target, ...], build: Build, shape: tuple[int, ...] = (16,)
) -> Case:
    return Case(id_, title, targets, given=(shape, build))


def _imports(suffix: str, shape: tuple[int, ...]) -> Iterator[Case]:
    every = ("numpy", "tvm_ffi", "torch", "jax") if suffix == "" else ("numpy", "tvm_ffi")

    def own(arrays: Arrays) -> Statements:
        return {
            OURS: call(arrays.refarray.from_dlpack, arrays.own), **arrays.own_importers(every),
        }  # fmt: skip

    def by_table(arrays: Arrays) -> Statements:
        table = call(arrays.native._from_exchange_api, arrays.own)
        return {OURS: table, **arrays.own_importers(every)}

    def by_protocol(arrays: Arrays) -> Statements:
        ours = call(arrays.refarray.from_dlpack, arrays.own, ", max_version=v", v=MAX_VERSION)
        return {OURS: ours, **arrays.own_importers(every)}

    def of_torch(arrays: Arrays) -> Statements:
        tensor = arrays.of("torch")
        peers = {**arrays.importers(tensor, every), **arrays.asked(tensor)}
        return {OURS: call(arrays.refarray.from_dlpack, tensor), **peers}

    def of_numpy(arrays: Arrays) -> Statements:
        array = arrays.of("numpy")
        export = Statement("x.__dlpack__(max_version=v)", {"x": array, "v": MAX_VERSION})
        ours = call(arrays.refarray.from_dlpack, array)
        return {OURS: ours, "np.__dlpack__": export, **arrays.importers(array, every)}

    against_numpy = (
        Target(3.0, "np.__dlpack__", above=True),
        Target(0.75, "numpy.from_dlpack"),
    )
    for number, title, targets, build in (
        (1, "from_dlpack(own)", (Target(2.6),), own),
        (2, "own, exchange API", (Target(3.8),), by_table),
        (3, "own, __dlpack__ protocol", (Target(6.8),), by_protocol),
        (4, "from_dlpack(torch)", (Target(3.0, ASKED, above=True),), of_torch),
        (5, "from_dlpack(np)", against_numpy, of_numpy),
    ):
        yield _case(f"A{number}{suffix}", title, targets, build, shape)


def _partner_imports() -> Iterator[Case]:
    for id_, name, limit in (("A6", "numpy", 0.85), ("A7", "torch", 0.9)):

        def build(arrays: Arrays, name: str = name) -> Statements:
            array = arrays.of("numpy")
            arrays.of(name)
            importer = arrays.environment.partners[name].from_dlpack
            theirs = {f"{name}.from_dlpack(np)": call(importer, array)}
            return {OURS: call(importer, arrays.own), **theirs}

        target = (Target(limit, f"{name}.from_dlpack(np)"),)
        yield _case(id_, f"{name}.from_dlpack(own)", target, build)


def _exports() -> Iterator[Case]:
    every = f"max_version={MAX_VERSION}, stream=None, dl_device=(1, 0), copy=None"
    for id_, title, code, limit in (
        ("A8", "__dlpack__()", "__dlpack__()", 4.3),
        ("A8 v", "__dlpack__(max_version=)", f"__dlpack__(max_version={MAX_VERSION})", 5.3),
        ("A8 kw", "__dlpack__(all keywords)", f"__dlpack__({every})", 6.0),
        ("A9", "__dlpack_device__()", "__dlpack_device__()", 1.3),
    ):

        def build(arrays: Arrays, code: str = code) -> Statements:
            peers = {name: method(array, code) for name, array in arrays.by_partner.items()}
            return {OURS: method(arrays.own, code), **peers}

        yield _case(id_, title, (Target(limit),), build)


def _options() -> Iterator[Case]:
    """Keyword arguments and read-only arrays, against the plain import (A1) or protocol (A3)."""
    for id_, title, readonly, keywords, against in (
        ("A12 copy", "from_dlpack(own, copy=True)", False, ", copy=True", "A1"),
        ("A12 device", "from_dlpack(own, device=own)", False, ", device=d", "A1"),
        ("A12 readonly", "from_dlpack(read-only)", True, "", "A1"),
        ("A12 legacy", "from_dlpack(own, legacy)", False, ", max_version=o", "A3"),
        ("A12 readonly v", "from_dlpack(read-only, protocol)", True, ", max_version=v", "A3"),
    ):

        def build(
            arrays: Arrays, readonly: bool = readonly, keywords: str = keywords, to: str = against
        ) -> Statements:
            function, own = arrays.refarray.from_dlpack, arrays.own
            source = own.as_readonly() if readonly else own
            known = {"d": own.device, "o": LEGACY_VERSION, "v": MAX_VERSION}
            names = {name: known[name] for name in known if keywords.endswith(f"={name}")}
            plain = ", max_version=v" if to == "A3" else ""
            reference = call(function, own, plain, **({"v": MAX_VERSION} if plain else {}))
            return {OURS: call(function, source, keywords, **names), to: reference}

        yield _case(id_, title, (Target(6.0, against, above=True),), build)


def _of_producer(name: str) -> Build:
    """A16: from_dlpack() of other producers, at most a call of `__dlpack_device__` slower than
    NumPy's, which does not ask for the device."""

    def build(arrays: Arrays) -> Statements:
        array = arrays.of("numpy")
        needs, make = producers.producers(arrays.environment, array)[name]
        if not arrays.environment.has(needs):
            raise Absent(arrays.environment.absent[needs])
        try:
            source = make()
        except (OSError, subprocess.CalledProcessError) as error:
            raise Absent(str(error)) from error
        peers = {**arrays.importers(source, ("numpy", "tvm_ffi")), **arrays.asked(source)}
        return {OURS: call(arrays.refarray.from_dlpack, source), **peers}

    return build
