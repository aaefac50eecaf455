"""The committed device kernel images: up to date with the sources, complete, and accepted by ptxas
for every architecture that it supports, if ptxas is installed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from helpers.gate_loading import load_tool

pytestmark = pytest.mark.not_repeated

ROOT = Path(__file__).resolve().parents[2]


tool = load_tool("gpu/gpu_kernels")


def kernel_names() -> list[str]:
    header = (tool.SOURCE.parent / "names.hpp").read_text(encoding="utf-8")
    return re.findall(r'"(refarray_\w+)"', header)


def test_the_images_are_up_to_date() -> None:
    assert tool.stale() == []


def test_the_ptx_has_every_kernel_with_its_parameter_size() -> None:
    ptx = (tool.IMAGES / tool.PTX).read_text(encoding="ascii")
    assert re.search(r"^\.version 6\.0\n\.target sm_60$", ptx, re.MULTILINE)
    entry = r"\.visible \.entry (\w+)\(\s*\.param \.align 8 \.b8 \w+\[(\d+)\]\s*\)"
    size = re.search(
        r"sizeof\(Params\) == (\d+)",
        (tool.SOURCE.parent / "params.hpp").read_text(encoding="utf-8"),
    )
    assert size is not None
    assert sorted(re.findall(entry, ptx)) == sorted((name, size[1]) for name in kernel_names())


def test_the_kernels_call_nothing_and_spill_nothing() -> None:
    ptx = (tool.IMAGES / tool.PTX).read_text(encoding="ascii")
    assert not re.search(r"^\s*(?:call|\.func|\.local)\b", ptx, re.MULTILINE)


def test_the_bundle_has_a_code_object_for_each_amd_device() -> None:
    image = (tool.IMAGES / tool.BUNDLE).read_bytes()
    assert image.startswith(b"__CLANG_OFFLOAD_BUNDLE__")
    assert len(image) >= tool.ALIGNMENT
    parts = dict(tool.entries(image))
    host, *devices = parts
    assert host.startswith("host-") and parts[host] == b""
    assert devices == [f"hipv4-amdgcn-amd-amdhsa--{name}" for name in tool.ARCHITECTURES]
    for triple in devices:
        assert parts[triple][:4] == b"\x7fELF", triple
        assert image.find(parts[triple]) % tool.ALIGNMENT == 0
        missing = [name for name in kernel_names() if name.encode() + b".kd" not in parts[triple]]
        assert not missing, triple


def test_ptxas_assembles_the_ptx_for_old_and_new_devices() -> None:
    """`make gate G=gpu-kernels-check` assembles it for all that ptxas knows."""
    found = tool.ptxas()
    if found is None:
        pytest.skip("no ptxas; `make gpu-kernels-check` installs it and runs this check")
    architectures = tool.assembled_for(found)
    assert "sm_90" in architectures
    for architecture in (architectures[0], "sm_90", architectures[-1]):
        output = tool.assemble(found, architecture)
        assert sorted(re.findall(r"entry function '(\w+)'", output)) == sorted(kernel_names())
        assert set(re.findall(r"(\d+) bytes spill", output)) == {"0"}, architecture


@pytest.fixture
def other_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources and images that a test may change."""
    for path in [*tool.sources(), *tool.IMAGES.iterdir()]:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "SOURCE", tmp_path / tool.SOURCE.relative_to(ROOT))
    monkeypatch.setattr(tool, "IMAGES", tmp_path / tool.IMAGES.relative_to(ROOT))
    return tmp_path


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_a_comment_or_a_line_break_needs_no_new_images(other_tree: Path) -> None:
    append(tool.SOURCE.parent / "device_cast.hpp", "\n\n// only a comment\n")
    assert tool.stale() == []


@pytest.mark.parametrize("name", ["src/runtime/kernels/device_cast.hpp", "src/core/element.hpp"])
def test_a_changed_source_is_detected(other_tree: Path, name: str) -> None:
    append(other_tree / name, "inline int more = 1;\n")
    (message,) = tool.stale()
    assert "make gpu-kernels" in message


def test_a_changed_or_missing_image_is_detected(other_tree: Path) -> None:
    append(tool.IMAGES / tool.PTX, "\n")
    (tool.IMAGES / tool.BUNDLE).unlink()
    assert [message.split()[0] for message in tool.stale()] == [tool.PTX, tool.BUNDLE]
    shutil.rmtree(tool.IMAGES)
    assert len(tool.stale()) == 1


def test_without_the_compiler_the_check_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "CLANG", "clang++-that-does-not-exist")
    monkeypatch.setattr(tool, "ptxas", lambda: None)
    tool.check()
    output = capsys.readouterr().out
    assert "clang-19 lld-19" in output and "nvidia-cuda-nvcc" in output
    with pytest.raises(SystemExit, match="clang-19 lld-19"):
        tool.main([])
