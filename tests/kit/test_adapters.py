"""The adapters of libraries: lookup, well-formed expressions, and checks that do not apply to a
library."""

from __future__ import annotations

import ast
import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from helpers import other_classes

import refarray as ra
from refarray.conformance import Outcome, Subject, _adversary, check, checks
from refarray.conformance.cases import CHECKS
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Producer
from refarray.conformance.library import Report
from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import run_subject
from refarray.conformance.subjects.capsule_libraries import CapsuleProducer, find_excuse
from refarray.conformance.subjects.lookup import ADAPTERS, subject, version_of
from refarray.conformance.subjects.subject import KINDS

pytestmark = pytest.mark.not_repeated


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_is_well_formed(name: str) -> None:
    found = subject(name)
    assert found.name == name and set(found.arrays) <= set(KINDS)
    ast.parse(found.imports)
    texts = [*found.arrays.values(), found.dtype.format("int8"), found.big.format(3)]
    texts += [found.from_dlpack.format("x"), found.there]
    for text in filter(None, texts):
        ast.parse(text, mode="eval")


ON_DEVICES = [(name, vendor) for name in ADAPTERS for vendor in subject(name).devices]


def test_adapters_with_devices() -> None:
    assert {name for name, _ in ON_DEVICES} == {"refarray", "torch", "cupy", "cuda_core"}


@pytest.mark.parametrize(("name", "vendor"), ON_DEVICES)
def test_device_expressions_use_only_the_imports_of_the_adapter(name: str, vendor: str) -> None:
    found = subject(name)
    known = {alias.asname or alias.name for alias in imported(found.imports)} | {"a", "b", "s"}
    on_device = found.devices[vendor]
    texts = [getattr(on_device, field.name) for field in dataclasses.fields(on_device)]
    for text in (each for each in texts if isinstance(each, str)):
        tree = ast.parse(text.format("a", "b", "s"))
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        assert {node.id for node in names} <= known | made | {"bytes", "int"}


def imported(lines: str) -> list[ast.alias]:
    nodes = ast.walk(ast.parse(lines))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    return [alias for node in imports for alias in node.names]


def test_every_field_of_an_adapter_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/conformance.md").read_text(encoding="utf-8")
    table = page[page.index("| field of `Subject` |") :].partition("\n\n")[0]
    for each in dataclasses.fields(Subject):
        assert f"`{each.name}`" in table, each.name


def test_libraries_with_an_adapter() -> None:
    assert set(ADAPTERS) >= {
        *("numpy", "torch", "jax", "tvm_ffi", "array_api_strict", "pyarrow", "refarray"),
        *("cupy", "tvm", "mpi4py", "tensorflow", "mxnet", "dgl", "dali", "mlx", "memoryview"),
        *("onnxruntime", "warp", "paddle", "dpnp", "awkward", "cuda_core"),
        *("torch_mps", "mlx_metal"),
    }


class OldSignature:
    """An array of the old signature: its __dlpack__ takes the stream only."""

    def __init__(self, array: ra.Array) -> None:
        self.array = array

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self.array.__dlpack__(stream=stream)

    def tolist(self) -> Any:
        return self.array.tolist()


OLD_SIGNATURE = Subject(
    "test_adapters:OLD_SIGNATURE",
    "import refarray as ra; from test_adapters import OldSignature",
    arrays={"plain": "OldSignature(ra.arange(6, dtype=ra.float32))"},
    big="OldSignature(ra.ones({}, dtype=ra.float32))",
    array_api=False,
)


def test_the_lifetime_of_old_producers_is_checked() -> None:
    run = run_subject("test_adapters:OLD_SIGNATURE", checks(ids=["LIFE-16", "LIFE-22", "TENS-01"]))
    found = {f"{each.id} {each.case}": each.outcome for each in run.findings}
    assert found["LIFE-16 gone"] is found["LIFE-16 gone-big"] is Outcome.PASS
    assert not [each for each in run.findings if each.outcome.failed]


class WithoutId(OldSignature):
    """An array whose device has no id, as Paddle's on the CPU."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return (1, None)


WITHOUT_ID = replace(
    OLD_SIGNATURE,
    name="test_adapters:WITHOUT_ID",
    imports="import refarray as ra; from test_adapters import WithoutId",
    arrays={"plain": "WithoutId(ra.arange(6, dtype=ra.float32))"},
    big="WithoutId(ra.ones({}, dtype=ra.float32))",
)


def test_a_device_without_an_id_hides_no_other_case() -> None:
    run = run_subject("test_adapters:WITHOUT_ID", checks(ids=["DEV-01", "DEV-03"]))
    found = {f"{each.id} {each.case}": each.outcome for each in run.findings}
    assert found["DEV-01 pair"] is Outcome.FAIL and found["DEV-03 plain"] is Outcome.PASS


class Wrapped:
    """A producer of a capsule."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return (1, 0)


def takes_both(x: Any) -> Any:
    """Imports objects, and capsules without their last element."""
    is_object = hasattr(x, "__dlpack__")
    return ra.from_dlpack(x) if is_object else ra.from_dlpack(Wrapped(x))[..., :-1]


BOTH = Subject(
    "test_adapters:BOTH",
    imports="import refarray as ra; from test_adapters import takes_both",
    arrays={"plain": "ra.arange(6, dtype=ra.float32)"},
    from_dlpack="takes_both({})",
)


def test_capsules_themselves_are_imported_and_read() -> None:
    ids = [f"TENS-01[consumer-{way}-offset]" for way in ("versioned", "bare")]
    object_, capsule = run_subject("test_adapters:BOTH", checks(ids=ids)).findings
    assert object_.outcome is Outcome.PASS and capsule.outcome is Outcome.FAIL
    assert not capsule.same_as and "__dlpack__(max_version=(1, 3))" in capsule.repro


def test_versions() -> None:
    assert version_of("refarray") == ra.__version__
    assert version_of("dgl") == version_of("") == ""


def test_negotiation_checks_do_not_apply_to_capsule_libraries() -> None:
    both = Subject("x", "", takes_capsules=True, gives_capsules=True)
    for each in checks(full=True):
        reason = find_excuse(both, each)
        family = each.id.partition("-")[0]
        if family in {"DTYPE", "TENS", "LIFE", "ABI"}:
            assert not reason
        if family in {"COPY", "PROD", "AAPI", "STRM"}:
            assert "bare capsules" in reason
        assert not find_excuse(ADAPTERS["numpy"], each)


def test_excused_cases_are_not_applicable() -> None:
    run = run_subject("test_adapters:LEGACY", checks(ids=["COPY-04", "TENS-01", "PROD-01"]))
    assert not run.broken
    ends = {(found.id, found.outcome) for found in run.findings}
    assert ("COPY-04", Outcome.NOT_APPLICABLE) in ends and ("TENS-01", Outcome.PASS) in ends
    assert not [found for found in run.findings if found.outcome.failed]
    reasons = {found.observed for found in run.findings if found.id == "COPY-04"}
    assert all("takes bare capsules" in reason for reason in reasons)


class Old:
    """An array of a library that exports legacy capsules by to_dlpack()."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def to_dlpack(self) -> object:
        return self.array.__dlpack__()


def take(x: Any) -> CapsuleProducer:
    """The import function of that library."""
    return CapsuleProducer(Old(ra.from_capsule(x.__dlpack__())), "to_dlpack")


LEGACY = Subject(
    "legacy",
    "import refarray as ra; from test_adapters import Old, take; "
    "from refarray.conformance.subjects.capsule_libraries import CapsuleProducer",
    arrays={"plain": "CapsuleProducer(Old(ra.arange(6, dtype=ra.float32)), 'to_dlpack')"},
    from_dlpack="take({})",
    array_api=False,
    takes_capsules=True,
    gives_capsules=True,
)


@pytest.fixture(autouse=True)
def tests_are_importable(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    own = request.path.parent
    monkeypatch.setenv("PYTHONPATH", f"{own}:{own.parent}", prepend=":")


def test_a_capsule_library_refuses_copies_devices_and_streams() -> None:
    sent = CapsuleProducer(Old(ra.arange(3)), "to_dlpack")
    assert ra.from_dlpack(sent).tolist() == [0, 1, 2]
    for keywords in ({"copy": True}, {"dl_device": (2, 0)}, {"stream": 5}):
        with pytest.raises(BufferError):
            sent.__dlpack__(**keywords)


def test_a_library_without_dlpack_is_reported() -> None:
    assert "has no __dlpack__" in run_subject("memoryview", checks(ids=["TENS-01"])).broken


# --- conduct that breaks no requirement


class Enumerated:
    """An enum member as pybind11 makes them: not an int, but int() converts it."""

    __members__: ClassVar[dict[str, int]] = {"kDLCPU": 1}

    def __int__(self) -> int:
        return 1


class Older:
    """A producer as before 2023: its struct has NULL strides for row-major data."""

    def __dlpack_device__(self) -> Any:
        return (Enumerated(), 0)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> object:
        tensor = _adversary.make(shape=(3,), data=bytes(12), strides=None, versioned=False)
        return tensor.capsule()


OLDER = Subject(
    "older", "from test_adapters import Older", {"plain": "Older()"}, array_api=False, carrier=True
)


class Membered(Older):
    """A producer whose dl_device accepts members of its enumeration, but no ints."""

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None
    ) -> object:
        if dl_device is not None and not isinstance(dl_device[0], Enumerated):
            raise TypeError("incompatible function arguments")
        return super().__dlpack__(stream=stream)


MEMBERED = Subject("membered", "from test_adapters import Membered", {"plain": "Membered()"})


def take_loosely(x: Any) -> Any:
    """An import that accepts no legacy capsules, passes copy=False and does not rename."""
    return _adversary.inspect(x.__dlpack__(max_version=(1, 3), copy=False)) and ra.zeros(3)


LOOSE = Subject(
    "loose",
    "from test_adapters import take_loosely",
    from_dlpack="take_loosely({})",
    carrier=True,
    overloads=True,
    through="numpy",
)
NOT_APPLICABLE = [
    ("OLDER", "TENS-06", "plain", "before 1.2 NULL strides mean row-major order"),
    ("OLDER", "PROD-06", "own-device", "PROD-01 judges that"),
    ("OLDER", "PROD-06", "vpi", "PROD-01 judges that"),
    ("OLDER", "PROD-08", "cpu", "PROD-01 judges that"),
    ("OLDER", "AAPI-02", "signature", "does not claim the array API"),
    ("MEMBERED", "PROD-06", "own-device", "members of its own enumeration, and no ints"),
    ("MEMBERED", "PROD-06", "vpi", "members of its own enumeration, and no ints"),
    ("MEMBERED", "PROD-08", "cpu", "members of its own enumeration, and no ints"),
    ("LOOSE", "DTYPE-07", "fp6-bits8", "carries every dtype"),
    ("LOOSE", "DTYPE-08", "fp4-bits8", "carries every dtype"),
    ("LOOSE", "CONS-09", "defaults", "asks for something of its own"),
    ("LOOSE", "CONS-03", "ValueError", "an input that no overload accepts is a TypeError"),
    ("LOOSE", "FLAG-09", "read-only", "whether they write"),
    ("LOOSE", "LIFE-12", "twice", "LIFE-10 judges that"),
]


@pytest.mark.parametrize(("name", "id", "case", "why"), NOT_APPLICABLE)
def test_a_check_is_not_applicable(name: str, id: str, case: str, why: str) -> None:
    chosen = [each for each in checks(ids=[id]) if each.case == case]
    [found] = run_subject(f"test_adapters:{name}", chosen).findings
    assert found.outcome is Outcome.NOT_APPLICABLE and why in found.observed


def test_a_member_of_any_enumeration_names_a_device() -> None:
    [found] = run_subject("test_adapters:OLDER", checks(ids=["DEV-01"])).findings
    assert found.outcome is Outcome.PASS
    assert run_subject("refarray", checks(ids=["DEV-01"])).findings[0].outcome is Outcome.PASS


# --- classes that are no array libraries


@pytest.mark.parametrize("name", other_classes.ALL)
def test_an_adapter_of_three_lines_gives_no_false_finding(name: str) -> None:
    """One axis, one dtype, copies only, no export, the protocol of 2021: limits, no deviations."""
    run = run_subject(f"helpers.other_classes:{name}", engine.select(), devices="none")
    assert not run.broken
    bad = {Outcome.FAIL, Outcome.CRASH, Outcome.HANG, Outcome.WARN, Outcome.ERROR}
    shown = [f"{f.id} {f.role} {f.case}: {f.observed}" for f in run.findings if f.outcome in bad]
    assert shown == []
    assert sum(found.outcome is Outcome.PASS for found in run.findings) >= 90
    untold = [f for f in run.findings if f.outcome is Outcome.NOT_APPLICABLE and not f.observed]
    assert not untold


def test_an_undeclared_limit_is_named() -> None:
    checks = [each for each in engine.select(ids=["TENS-07"]) if each.case == "legacy"]
    (found,) = run_subject("helpers.other_classes:SERIES", checks, devices="none").findings
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert "it refuses a plain tensor of shape (2, 3), too" in found.observed
    assert "its adapter declares no such limit" in found.observed


def test_a_class_that_claims_the_array_api_has_no_such_excuse() -> None:
    claims = replace(other_classes.SERIES, array_api=True)
    producer = Producer(claims)
    consumer = Consumer(producer.subject, producer.namespace)
    result = CHECKS["TENS-07[consumer-legacy]"].probe(consumer)
    assert result.held is False


def test_the_version_of_a_package_in_a_distribution_of_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CuPy's wheels are named by their CUDA version."""
    (tmp_path / "lib_of_cuda").mkdir()
    folder = tmp_path / "lib_of_cuda_cuda13x-7.5.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: lib-of-cuda-cuda13x\nVersion: 7.5\n"
    )
    (folder / "top_level.txt").write_text("lib_of_cuda\n")
    assert Subject("lib_of_cuda", "").version == ""
    monkeypatch.syspath_prepend(tmp_path)
    assert Subject("lib_of_cuda", "").version == "7.5"


# --- away from their devices


def test_adapters_for_a_mac() -> None:
    for name in ("torch_mps", "mlx_metal"):
        found = subject(name)
        assert found.there and found.inherits == found.distribution
    texts = [*subject("torch_mps").arrays.values(), subject("torch_mps").big]
    assert all("device='mps'" in text for text in texts)


ELSEWHERE = Subject(
    "test_adapters:ELSEWHERE",
    "import refarray as ra",
    arrays={"plain": "ra.no_such_array()"},
    from_dlpack="ra.from_dlpack({})",
    there="ra is None",
)
UNKNOWN = replace(ELSEWHERE, name="test_adapters:UNKNOWN", there="ra.no_such_device()")
HERE = replace(
    ELSEWHERE,
    name="test_adapters:HERE",
    arrays={"plain": "ra.arange(6, dtype=ra.float32)"},
    there="ra is not None",
)


def not_applicable(report: Report) -> str:
    """The one reason for which no case applies."""
    assert {each.outcome for each in report.findings} == {Outcome.NOT_APPLICABLE}
    (reason,) = {each.observed for each in report.findings}
    return reason


def test_a_subject_without_its_device_is_not_applicable() -> None:
    """No expression of the adapter runs, and nothing of it is called wrong."""
    some = ["DEV", "CONS-01"]
    report = check(ELSEWHERE.name, ids=some)
    assert not_applicable(report) == f"{ELSEWHERE.name} has no device here: ra is None is false"
    assert not report.run.dropped and not report.run.broken
    assert report.run.head() == [f"no case applies: {report.findings[0].observed}"]
    reason = not_applicable(check(UNKNOWN.name, ids=some))
    assert "no device here: ra.no_such_device() raised AttributeError" in reason
    assert Outcome.PASS in {each.outcome for each in check(HERE.name, ids=some).findings}


def off_metal(text: str) -> str:
    return text.replace("device='mps'", "device='cpu'")


MPS = subject("torch_mps")
ON_CPU = replace(
    MPS,
    name="test_adapters:ON_CPU",
    arrays={kind: off_metal(text) for kind, text in MPS.arrays.items()},
    **{name: off_metal(getattr(MPS, name)) for name in ("dtype", "ramp", "big")},
    inherits="",
    there="",
)


@pytest.mark.torch
def test_the_expressions_for_mps_give_what_they_promise() -> None:
    """On the CPU, where every machine can try them."""
    run = check(ON_CPU.name, ids=["DEV-09", "TENS-01[producer-first]"]).run
    assert not run.dropped and {each.outcome for each in run.findings} == {Outcome.PASS}


@pytest.mark.torch
def test_pytorch_on_mps_is_tried_where_pytorch_has_it() -> None:
    import torch

    report = check("torch_mps", ids=["DEV-13"])
    if torch.backends.mps.is_available():
        assert report.findings[0].outcome is not Outcome.NOT_APPLICABLE
    else:
        why = "torch_mps has no device here: torch.backends.mps.is_available() is false"
        assert not_applicable(report) == why
