"""The exchange cases A1 to A12 and A16: statements, contenders and targets."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import producers
from .environment import Environment
from .targets import OURS, UNIT, Target
from .timing import Statement

MAX_VERSION = (1, 3)
LEGACY_VERSION = (0, 8)
SHAPES: dict[str, tuple[int, ...]] = {
    "": (16,),
    " 0-d": (),
    " size-1": (1, 16, 1),
    " 4-d": (2, 2, 2, 2),
    " 8-d": (2, 1, 2, 1, 2, 1, 2, 1),
}


@dataclass
class Case:
    """One row: our statement, the contenders timed in the same rounds, and the targets."""

    id: str
    title: str
    ours: Statement
    targets: tuple[Target, ...]
    peers: dict[str, Statement] = field(default_factory=dict)

    def statements(self, unit: Statement) -> dict[str, Statement]:
        return {UNIT: unit, OURS: self.ours, **self.peers}


@dataclass
class Skipped:
    """A row that cannot run here, with the reason."""

    id: str
    title: str
    reason: str


def unit_statement(environment: Environment) -> Statement:
    """The unit U: one call of a METH_O C function, loop included."""
    return Statement("f(x)", {"f": environment.native._noop, "x": None})


ASKED = "numpy.from_dlpack + `__dlpack_device__`"


def call(function: object, argument: object, keywords: str = "", **names: object) -> Statement:
    return Statement(f"f(x{keywords})", {"f": function, "x": argument, **names})


def method(argument: object, code: str) -> Statement:
    return Statement(f"x.{code}", {"x": argument})


@dataclass
class Arrays:
    """The same 16 float32 elements as an array of each installed library."""

    environment: Environment
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        # The 0-d variant holds one element, every other shape holds 16.
        count = 1
        for extent in self.shape:
            count *= extent
        product = self.environment.refarray
        partners = self.environment.partners
        flat = product.arange(count, dtype="float32")
        self.own = product.reshape(flat, self.shape)
        self.by_partner: dict[str, object] = {}
        if "numpy" in partners:
            np = partners["numpy"]
            self.by_partner["numpy"] = np.arange(count, dtype="float32").reshape(self.shape)
        if "torch" in partners:
            torch = partners["torch"]
            flat = torch.arange(count, dtype=torch.float32)
            self.by_partner["torch"] = flat.reshape(self.shape)
        if self.environment.has("numpy", "tvm_ffi"):
            source = self.by_partner["numpy"].copy()
            self.by_partner["tvm_ffi"] = partners["tvm_ffi"].from_dlpack(source)
        if "jax" in partners:
            jnp = partners["jax"].numpy
            self.by_partner["jax"] = jnp.arange(count, dtype="float32").reshape(self.shape)

    def importers(self, source: object, names: tuple[str, ...]) -> dict[str, Statement]:
        """`X.from_dlpack(source)` for each installed partner X."""
        found = {}
        for name in names:
            if name in self.environment.partners:
                module = self.environment.partners[name]
                function = module.dlpack.from_dlpack if name == "jax" else module.from_dlpack
                found[f"{name}.from_dlpack"] = call(function, source)
        return found

    def asked(self, source: object) -> dict[str, Statement]:
        """numpy.from_dlpack(source), and a call of `source.__dlpack_device__`."""
        if "numpy" not in self.environment.partners:
            return {}
        function = self.environment.partners["numpy"].from_dlpack
        return {ASKED: Statement("f(x); x.__dlpack_device__()", {"f": function, "x": source})}

    def own_importers(self, names: tuple[str, ...]) -> dict[str, Statement]:
        """Each partner importing its own array."""
        found: dict[str, Statement] = {}
        for name in names:
            if name in self.by_partner:
                importers = self.importers(self.by_partner[name], (name,))
                found.update({f"{key}(own)": value for key, value in importers.items()})
        return found


def cases(environment: Environment) -> Iterator[Case | Skipped]:
    """Every exchange case, ordered by id; cases of a missing partner are Skipped."""
    for suffix, shape in SHAPES.items():
        yield from _import_cases(environment, Arrays(environment, shape), suffix)
    arrays = Arrays(environment, SHAPES[""])
    yield from _partner_import_cases(environment, arrays)
    yield from _export_cases(arrays)
    yield from _option_cases(environment, arrays)
    yield from _producer_cases(environment, arrays)


def _import_cases(
    environment: Environment, arrays: Arrays, suffix: str
) -> Iterator[Case | Skipped]:
    product, own = environment.refarray, arrays.own
    every = ("numpy", "tvm_ffi", "torch", "jax") if suffix == "" else ("numpy", "tvm_ffi")
    peers = arrays.own_importers(every)
    yield Case(
        f"A1{suffix}",
        "from_dlpack(own)",
        call(product.from_dlpack, own),
        (Target("units", 2.6),),
        peers,
    )
    yield Case(
        f"A2{suffix}",
        "own, exchange API",
        call(environment.native._from_exchange_api, own),
        (Target("units", 3.8),),
        peers,
    )
    yield Case(
        f"A3{suffix}",
        "own, __dlpack__ protocol",
        call(product.from_dlpack, own, ", max_version=v", v=MAX_VERSION),
        (Target("units", 6.8),),
        peers,
    )
    if "torch" in arrays.by_partner:
        tensor = arrays.by_partner["torch"]
        yield Case(
            f"A4{suffix}",
            "from_dlpack(torch)",
            call(product.from_dlpack, tensor),
            (Target("excess", 3.0, ASKED),) if "numpy" in environment.partners else (),
            {**arrays.importers(tensor, every), **arrays.asked(tensor)},
        )
    else:
        yield Skipped(f"A4{suffix}", "from_dlpack(torch)", environment.absent["torch"])
    if "numpy" in arrays.by_partner:
        array = arrays.by_partner["numpy"]
        export = Statement("x.__dlpack__(max_version=v)", {"x": array, "v": MAX_VERSION})
        yield Case(
            f"A5{suffix}",
            "from_dlpack(np)",
            call(product.from_dlpack, array),
            (Target("excess", 3.0, "np.__dlpack__"), Target("ratio", 0.75, "numpy.from_dlpack")),
            {"np.__dlpack__": export, **arrays.importers(array, every)},
        )
    else:
        yield Skipped(f"A5{suffix}", "from_dlpack(np)", environment.absent["numpy"])


def _partner_import_cases(environment: Environment, arrays: Arrays) -> Iterator[Case | Skipped]:
    for id_, name, limit in (("A6", "numpy", 0.85), ("A7", "torch", 0.9)):
        title = f"{name}.from_dlpack(own)"
        if not environment.has("numpy", name):
            missing = name if name in environment.absent else "numpy"
            yield Skipped(id_, title, environment.absent[missing])
            continue
        importer = environment.partners[name].from_dlpack
        reference = f"{name}.from_dlpack(np)"
        yield Case(
            id_,
            title,
            call(importer, arrays.own),
            (Target("ratio", limit, reference),),
            {reference: call(importer, arrays.by_partner["numpy"])},
        )


def _export_cases(arrays: Arrays) -> Iterator[Case | Skipped]:
    every = f"max_version={MAX_VERSION}, stream=None, dl_device=(1, 0), copy=None"
    rows = (
        ("A8", "__dlpack__()", 4.3),
        ("A8 v", f"__dlpack__(max_version={MAX_VERSION})", 5.3),
        ("A8 kw", f"__dlpack__({every})", 6.0),
        ("A9", "__dlpack_device__()", 1.3),
    )
    titles = {"A8 v": "__dlpack__(max_version=)", "A8 kw": "__dlpack__(all keywords)"}
    for id_, code, limit in rows:
        peers = {name: method(array, code) for name, array in arrays.by_partner.items()}
        yield Case(
            id_,
            titles.get(id_, code),
            method(arrays.own, code),
            (Target("units", limit),),
            peers,
        )


def _option_cases(environment: Environment, arrays: Arrays) -> Iterator[Case | Skipped]:
    product, own = environment.refarray, arrays.own
    plain = {"A1": call(product.from_dlpack, own)}
    protocol = {"A3": call(product.from_dlpack, own, ", max_version=v", v=MAX_VERSION)}
    readonly = own.as_readonly()
    rows = (
        ("A12 copy", "from_dlpack(own, copy=True)", own, ", copy=True", {}, plain),
        ("A12 device", "from_dlpack(own, device=own)", own, ", device=d", {"d": own.device}, plain),
        ("A12 readonly", "from_dlpack(read-only)", readonly, "", {}, plain),
        (
            "A12 legacy",
            "from_dlpack(own, legacy)",
            own,
            ", max_version=v",
            {"v": LEGACY_VERSION},
            protocol,
        ),
        (
            "A12 readonly v",
            "from_dlpack(read-only, protocol)",
            readonly,
            ", max_version=v",
            {"v": MAX_VERSION},
            protocol,
        ),
    )
    for id_, title, argument, keywords, names, reference in rows:
        (against,) = reference
        yield Case(
            id_,
            title,
            call(product.from_dlpack, argument, keywords, **names),
            (Target("excess", 6.0, against),),
            reference,
        )


def _producer_cases(environment: Environment, arrays: Arrays) -> Iterator[Case | Skipped]:
    """A16: from_dlpack() of other producers, at most a call of `__dlpack_device__` slower than
    NumPy's, which does not ask for the device."""
    made = producers.producers(environment, arrays.by_partner.get("numpy"))
    for name, (needs, make) in made.items():
        id_, title = f"A16 {name}", f"from_dlpack({producers.TITLES[name]})"
        missing = [each for each in ("numpy", needs) if each in environment.absent]
        if missing:
            yield Skipped(id_, title, environment.absent[missing[0]])
            continue
        try:
            source = make()
        except (OSError, subprocess.CalledProcessError) as error:
            yield Skipped(id_, title, f"{error}")
            continue
        yield Case(
            id_,
            title,
            call(environment.refarray.from_dlpack, source),
            (Target("excess", 3.0, ASKED),),
            {**arrays.importers(source, ("numpy", "tvm_ffi")), **arrays.asked(source)},
        )
