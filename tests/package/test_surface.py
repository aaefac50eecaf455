"""The public API: names, signatures and docstrings, and the modules that importing it loads."""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.processes import python

import refarray

pytestmark = pytest.mark.every_python

# Generated from the standard's own stubs (tools/docs/array_api_signatures.py).
ARRAY_API = tomllib.loads(
    (Path(__file__).parent / "array_api_signatures.toml").read_text(encoding="utf-8")
)
STANDARD: dict[str, str] = ARRAY_API["functions"]
STANDARD_METHODS: dict[str, str] = ARRAY_API["methods"]
STANDARD_ATTRIBUTES = tuple(ARRAY_API["attributes"])


OWN_METHODS = [
    "as_readonly",
    "astype",
    "copy",
    "flush",
    "is_contiguous",
    "is_shared",
    "item",
    "numpy",
    "reshape",
    "shared_handle",
    "tolist",
    "_repr_html_",
    "__copy__",
    "__deepcopy__",
    "__reduce_ex__",
    "__complex__",
    "__array__",
]
OWN_ATTRIBUTES = ("itemsize", "nbytes", "readonly", "strides", "__array_interface__")

EXTENSIONS = ("fft", "linalg")
PUBLIC = [(name, getattr(refarray, name)) for name in refarray.__all__]
TYPES = [(name, value) for name, value in PUBLIC if isinstance(value, type)]
FUNCTIONS = [
    (name, value) for name, value in PUBLIC if callable(value) and not isinstance(value, type)
]
OF_EXTENSIONS = [
    (f"{extension}.{name}", getattr(module, name))
    for extension in EXTENSIONS
    for module in [getattr(refarray, extension)]
    for name in module.__all__
]


def parameters(text: str) -> list[inspect.Parameter]:
    """The parameters of a signature written as text."""
    names: dict[str, Any] = {}
    exec(f"def f{text}: ...", names)
    return list(inspect.signature(names["f"]).parameters.values())


def is_same(mine: inspect.Parameter, theirs: inspect.Parameter) -> bool:
    """Whether no call can tell the two apart: the name of a positional-only parameter is free."""
    same_name = mine.name == theirs.name or theirs.kind is theirs.POSITIONAL_ONLY
    return same_name and (mine.kind, mine.default) == (theirs.kind, theirs.default)


def check_signature(function: Any, text: str) -> None:
    """The standard's parameters, in its order; further ones are optional."""
    mine = list(inspect.signature(function).parameters.values())
    theirs = parameters(text)
    assert all(is_same(*pair) for pair in zip(mine, theirs, strict=False)), inspect.signature(
        function
    )
    assert len(mine) >= len(theirs)
    assert all(extra.default is not extra.empty for extra in mine[len(theirs) :])


# --- names


def test_dunder_all_is_complete() -> None:
    assert len(refarray.__all__) == len(set(refarray.__all__))
    assert dir(refarray) == sorted(refarray.__all__)
    hidden = ("_", "@")  # pytest adds names with "@" to packages that bring a plugin
    shown = {name for name in vars(refarray) if not name.startswith(hidden)} | {"__version__"}
    submodules = {name for name in shown if f"refarray.{name}" in sys.modules}
    assert shown - submodules <= {*refarray.__all__, "TYPE_CHECKING"}


def test_native_names_are_public() -> None:
    from refarray import _native

    native = {name for name in vars(_native) if not name.startswith("_")}
    assert native <= set(refarray.__all__)
    assert all(getattr(refarray, name) is getattr(_native, name) for name in native)


def test_unknown_name_raises() -> None:
    missing: Any = refarray
    with pytest.raises(AttributeError, match="module 'refarray' has no attribute 'nothing'"):
        missing.nothing  # noqa: B018


def test_every_name_of_other_libraries_is_answered() -> None:
    """The name to use instead exists, and the foreign one does not."""
    from refarray._foreign_names import FOREIGN

    for foreign, ours in FOREIGN.items():
        with pytest.raises(
            AttributeError, match=rf"has no attribute '{foreign}'; use refarray\.{ours}$"
        ):
            getattr(refarray, foreign)
        found: Any = refarray
        for part in ours.split("."):
            found = getattr(found, part)
    assert {
        "array",
        "concatenate",
        "cat",
        "transpose",
        "arccos",
        "power",
        "unique",
    } <= FOREIGN.keys()


def test_interpreter_suggests_a_similar_name() -> None:
    done = python("-c", "import refarray; refarray.zers")
    assert "module 'refarray' has no attribute 'zers'. Did you mean" in done.stderr
    assert re.search(r"'\.?zeros'", done.stderr)  # CPython 3.15: '.zeros' instead of '.zers'


def test_private_names_are_only_missing() -> None:
    missing: Any = refarray
    assert not hasattr(missing, "__wrapped__")
    with pytest.raises(AttributeError, match=r"no attribute '_hidden'$"):
        missing._hidden  # noqa: B018


def test_star_import_has_all_names() -> None:
    names: dict[str, Any] = {}
    exec("from refarray import *", names)
    assert set(refarray.__all__) <= set(names)


def test_constants() -> None:
    import math

    assert (refarray.e, refarray.inf, refarray.pi) == (math.e, math.inf, math.pi)
    assert math.isnan(refarray.nan)
    assert refarray.newaxis is None
    assert set(ARRAY_API["constants"]) <= set(refarray.__all__)


def test_device_types_match_dlpack() -> None:
    members = {int(member): member.name for member in refarray.DLDeviceType}
    assert members[1] == "kDLCPU"
    assert members[2] == "kDLCUDA"
    assert members[10] == "kDLROCM"
    kind, number = refarray.zeros(1).__dlpack_device__()
    assert kind is refarray.DLDeviceType.kDLCPU
    assert number == 0


# --- docstrings and signatures


@run_each(
    ("name", "value"),
    [*FUNCTIONS, *OF_EXTENSIONS],
    ids=[name for name, _ in (*FUNCTIONS, *OF_EXTENSIONS)],
)
def test_every_function_has_a_docstring_and_a_signature(name: str, value: Any) -> None:
    doc = inspect.getdoc(value)
    assert doc
    assert len(doc) > 40
    plain = name.rpartition(".")[2]
    assert not doc.startswith(f"{plain}(")  # the signature is not repeated
    assert value.__name__ == plain
    inspect.signature(value)  # which stubtest compares with the stub
    if name in STANDARD:
        check_signature(value, STANDARD[name])


@run_each(("name", "value"), TYPES, ids=[name for name, _ in TYPES])
def test_every_type_and_member_has_a_docstring(name: str, value: Any) -> None:
    assert inspect.getdoc(value)
    assert value.__name__ == name
    assert value.__module__.partition(".")[0] == "refarray"
    for attribute, member in vars(value).items():
        if isinstance(member, (int, str, bytes, tuple, type(None), dict, list)) or attribute in (
            "__doc__",
            "__new__",
        ):
            continue
        if issubclass(value, int):  # an enum: Python defines its members
            continue
        assert inspect.getdoc(member), attribute
        if inspect.isroutine(member):
            inspect.signature(member)


def test_protocols_are_the_standards() -> None:
    from refarray import typing

    protocols = {"": typing.Namespace, "fft": typing.Fft, "linalg": typing.Linalg}
    for name, signature in STANDARD.items():
        extension, _, plain = name.rpartition(".")
        own = parameters(signature)
        function = vars(protocols[extension])[plain]
        theirs = list(inspect.signature(function).parameters.values())[1:]
        assert [(each.name, each.kind, each.default) for each in theirs] == [
            (each.name, each.kind, each.default) for each in own
        ], name
    members = {*STANDARD_METHODS, *STANDARD_ATTRIBUTES}
    assert members <= vars(typing.Array).keys()
    assert {name for name in vars(typing.Array) if not name.startswith("_")} <= members
    assert set(ARRAY_API["constants"]) <= vars(typing.Namespace).keys()


def test_public_functions_of_the_standard_are_checked() -> None:
    assert {"arange", "asarray", "expand_dims", "finfo", "from_dlpack", "squeeze"} <= set(
        STANDARD
    ) & {name for name, _ in FUNCTIONS}


@pytest.mark.req("AAPI-01", "AAPI-02", "PROD-01")
@run_each("name", sorted(set(STANDARD_METHODS) - {"__array_namespace__"}))
def test_standard_methods_have_standard_signatures(name: str) -> None:
    check_signature(getattr(refarray.Array, name), STANDARD_METHODS[name])


@run_each("name", OWN_METHODS)
def test_other_methods_have_docstrings_and_signatures(name: str) -> None:
    assert inspect.getdoc(getattr(refarray.Array, name))
    inspect.signature(getattr(refarray.Array, name))


@run_each("name", STANDARD_ATTRIBUTES + OWN_ATTRIBUTES)
def test_attributes_are_read_only(name: str) -> None:
    x: Any = refarray.zeros((2, 2))
    getattr(x, name)
    with pytest.raises(AttributeError):
        setattr(x, name, None)
    with pytest.raises(AttributeError):
        delattr(x, name)


@pytest.mark.parametrize("name", ["astype", "copy", "reshape", "to_device"])
def test_methods_have_the_parameters_of_the_functions(name: str) -> None:
    function = list(inspect.signature(getattr(refarray, name)).parameters.values())[1:]
    method = list(inspect.signature(getattr(refarray.Array, name)).parameters.values())[1:]
    assert [is_same(*pair) for pair in zip(function, method, strict=True)] == [True] * len(function)


@pytest.mark.parametrize("value", [refarray.Array, refarray.DType, refarray.Device])
def test_native_types_are_final_and_immutable(value: Any) -> None:
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Derived", (value,), {})
    with pytest.raises(TypeError):
        value.surprise = 1


def test_array_type_cannot_be_called() -> None:
    make: Any = refarray.Array
    with pytest.raises(TypeError, match="cannot create 'refarray.Array' instances"):
        make()


def test_the_namespace_has_all_names_of_the_standard() -> None:
    assert {name for name in STANDARD if "." not in name} <= set(dir(refarray))
    assert refarray.zeros(1).__array_namespace__() is refarray


@pytest.mark.parametrize("name", EXTENSIONS)
def test_an_extension_has_the_functions_of_the_standard(name: str) -> None:
    module = getattr(refarray, name)
    names = {each.partition(".")[2] for each in STANDARD if each.startswith(f"{name}.")}
    assert set(module.__all__) == names
    assert len(module.__all__) == len(names)
    public = {each for each in vars(module) if not each.startswith(("_", "@"))}
    assert public == names
    assert module.__name__ == f"refarray.{name}" and inspect.getdoc(module)
    shared = names & {each for each, _ in FUNCTIONS}
    assert all(getattr(module, each) is getattr(refarray, each) for each in shared)
    assert all(getattr(module, each).__module__ == module.__name__ for each in names - shared)


# --- imported modules


def new_modules(code: str) -> set[str]:
    """The modules that running `code` in a new, bare interpreter adds."""
    script = f"import sys; before = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - before))"
    path = [str(path) for path in sys.path if path]
    start = f"import sys; sys.path[:0] = {path!r}\n"
    done = python("-I", "-S", "-c", start + script)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_loads_two_modules() -> None:
    assert new_modules("import refarray") == {"refarray", "refarray._native"}


def test_exchange_loads_no_other_modules() -> None:
    code = (
        "import refarray as r\n"
        "r.from_capsule(r.to_capsule(r.asarray([1.0]), max_version=(1, 0))).tolist()"
    )
    assert new_modules(code) == {"refarray", "refarray._native"}


@pytest.mark.not_sanitized("isolated mode ignores PYTHONMALLOC, and LSan reports arenas as leaks")
@run_each(
    "name",
    ["fft", "linalg", "finfo", "from_numpy", "inspect", "doctor", "DLDeviceType", "printoptions"],
)
def test_lazy_name_is_loaded_on_first_use(name: str) -> None:
    code = (
        f"import refarray\nassert '{name}' not in vars(refarray)\n"
        f"refarray.{name}\nassert '{name}' in vars(refarray)"
    )
    assert len(new_modules(code)) > 2


# --- the manual's reference


def test_every_public_name_is_in_the_reference() -> None:
    pages = Path(__file__).resolve().parents[2] / "docs" / "api"
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages.glob("*.md"))
    words = {word.rpartition(".")[2] for word in text.replace("`", " ").replace(",", " ").split()}
    assert set(refarray.__all__) - set(EXTENSIONS) <= words
