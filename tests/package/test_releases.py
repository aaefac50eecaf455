"""What a release is made of: dependency groups, workflows, the stub libraries for an old glibc, and
the checks before a tag is published."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from email import message_from_string
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from helpers.processes import printed, python
from packaging.requirements import Requirement

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load(path: str) -> ModuleType:
    """A tool, loaded from its file."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / "tools" / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def workflow(name: str) -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


# --- metadata


def test_extras_are_what_users_need() -> None:
    assert set(PYPROJECT["project"]["optional-dependencies"]) == {"testing"}


@pytest.mark.parametrize("group", [*PYPROJECT["dependency-groups"], "build"])
def test_requirements_of_each_group(group: str) -> None:
    wanted = list(load("requirements.py").requirements(PYPROJECT, group))
    assert wanted and all(re.match(r"[A-Za-z][\w.-]*(\[|[<>=!~;]|$)", each) for each in wanted)


def test_included_group_is_listed_once() -> None:
    done = python(ROOT / "tools" / "requirements.py", "light", "test")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert set(PYPROJECT["dependency-groups"]["light"]) <= set(lines)
    assert len(lines) == len(set(lines)) and "sybil>=9" in lines


def test_groups_that_the_makefile_installs_exist() -> None:
    (line,) = re.findall(r"^(\$\(VENV\)/build .*): pyproject\.toml", MAKEFILE, re.MULTILINE)
    named = set(re.findall(r"\$\(VENV\)/(\w+)", line)) - {"build"}
    assert named == set(PYPROJECT["dependency-groups"]) - {"provided"}


CLASSIFIERS = PYPROJECT["project"]["classifiers"]
SUPPORTED = [each[-4:] for each in CLASSIFIERS if re.search(r":: 3\.\d\d$", each)]


def test_classifiers_name_the_tested_and_locked_pythons() -> None:
    matrix = workflow("tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == SUPPORTED
    assert {path.stem for path in (ROOT / "tools" / "locks").iterdir()} == set(SUPPORTED)
    assert f"\nMINORS := {' '.join(SUPPORTED)}\n" in MAKEFILE


@pytest.mark.parametrize("minor", SUPPORTED)
def test_a_lock_has_a_version_and_hashes_of_all_that_the_groups_need(minor: str) -> None:
    tool = load("requirements.py")
    tool.LOCK = ROOT / "tools" / "locks" / f"{minor}.txt"
    entries = tool.read_lock()
    wanted = list(tool.requirements(PYPROJECT, "locked"))
    for requirement in map(Requirement, wanted):
        pinned = Requirement(tool.version(entries[tool.package(requirement.name)]))
        (version,) = pinned.specifier
        assert version.operator == "==" and requirement.specifier.contains(version.version)
    assert all("--hash=sha256:" in entry and "://" not in entry for entry in entries.values())
    assert list(tool.needed(entries, wanted)) == sorted(entries)
    light = tool.needed(entries, list(tool.requirements(PYPROJECT, "light")))
    assert list(light) == ["apache-tvm-ffi", "ml-dtypes", "numpy", "typing-extensions"]


def test_what_the_lock_lacks_is_not_installed_in_some_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NEWEST", raising=False)
    tool = load("requirements.py")
    tool.LOCK = tmp_path / "3.11.txt"
    tool.LOCK.write_text("# made by hand\nnumpy==2.4.6 \\\n    --hash=sha256:00\n    # via -r -\n")
    with pytest.raises(SystemExit, match="3.11.txt lacks scipy: run `make lock`"):
        tool.install(["numpy>=2", "scipy>=1.17", "torch==2.13.0"], {"torch==2.13.0"})


@pytest.mark.parametrize("minor", SUPPORTED)
def test_no_lock_names_what_a_machine_provides_or_a_cuda_library_for_it(minor: str) -> None:
    tool = load("requirements.py")
    tool.LOCK = ROOT / "tools" / "locks" / f"{minor}.txt"
    assert "torch" not in tool.read_lock()
    partners = tool.needed(tool.read_lock(), list(tool.requirements(PYPROJECT, "partners")))
    assert "jaxlib" in partners and not [name for name in partners if "nvidia" in name]


# --- workflows


def test_every_gate_runs_each_night() -> None:
    gates = set(re.findall(r"^gate-([a-z0-9-]*):", MAKEFILE, re.MULTILINE))
    matrix = workflow("gates.yml")["jobs"]["gate"]["strategy"]["matrix"]
    # One writes the images that are committed, the other runs a folder of the gate `mutants`.
    assert set(matrix["gate"]) == gates - {"gpu-kernels", "gpu-mutants"}


def test_each_run_leaves_a_dated_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    gate = load("summary.py")
    gate.ROOT = gate.records.ROOT = tmp_path
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@b")
    lines = "".join(f"\t@echo line {each}\n" for each in range(20))
    (tmp_path / "Makefile").write_text(f"gate-five:\n\t@echo == part one\n{lines}\t@exit 5\n")
    monkeypatch.setenv("RECORD", "1")
    monkeypatch.setenv("MAKEFLAGS", "")
    assert gate.main("five") == 2  # that of make
    assert "line 0\nline 1\n" in capfd.readouterr().out
    text = (tmp_path / "docs" / "gates" / "five.toml").read_text(encoding="utf-8")
    kept = tomllib.loads(text)
    assert text.startswith('# A run of `make gate G=five`.\ngate = "five"\n')
    assert re.fullmatch(r"2\d{3}-\d\d-\d\d \d\d:\d\d UTC", kept["date"])
    log = (tmp_path / "build" / "gates" / "five.log").read_bytes()
    assert kept["exit_status"] == 2 and kept["headings"] == ["== part one"]
    assert kept["last_lines"][0] == "line 6" and len(text.splitlines()) <= 60
    show = ["git", "-C", tmp_path, "cat-file", "blob"]
    for name in (kept["raw"], "records:gates/five.log"):
        assert subprocess.run([*show, name], check=True, capture_output=True).stdout == log
    del kept["raw"]
    assert tomllib.loads((tmp_path / "build/gates/five.toml").read_text(encoding="utf-8")) == kept
    assert "line 0\n" in (tmp_path / "build" / "gates" / "five.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_commands_of_workflows_exist(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    commands = [
        step["run"] for job in jobs.values() for step in job.get("steps", ()) if "run" in step
    ]
    targets = set(re.findall(r"^([a-z][\w-]*):", MAKEFILE, re.MULTILINE))
    for command in commands:
        assert set(re.findall(r"\bmake ([a-z][\w-]*)", command)) <= targets
        for tool in re.findall(r"\bpython (tools/\S+)", command):
            assert (ROOT / tool).exists()


def test_only_the_last_job_of_a_release_may_publish() -> None:
    release = workflow("release.yml")
    assert release["permissions"] == {"contents": "read"}
    jobs = release["jobs"]
    assert {name for name, job in jobs.items() if "permissions" in job} == {"publish"}
    assert jobs["publish"]["permissions"]["id-token"] == "write"  # trusted publishing
    assert jobs["publish"]["permissions"]["attestations"] == "write"
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}


# --- before a tag is published


CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-01-31\n\n### Added\n"
CITATION = "cff-version: 1.2.0\nversion: 1.2.3\n"


def test_ready_release_has_no_problems() -> None:
    assert load("wheels/release.py").problems("v1.2.3", "1.2.3", CHANGELOG, CITATION) == []


@pytest.mark.parametrize(
    ("tag", "changelog", "citation", "problem"),
    [
        ("1.2.3", CHANGELOG, CITATION, "the tag 1.2.3 is not v1.2.3"),
        ("v1.2.4", CHANGELOG, CITATION, "the tag v1.2.4 is not v1.2.3"),
        ("v1.2.3", "## Unreleased\n", CITATION, "no section `## 1.2.3 - YEAR-MONTH-DAY`"),
        ("v1.2.3", "## 1.2.3\n", CITATION, "no section"),
        ("v1.2.3", "## 1x2.3 - 2026-01-31\n", CITATION, "no section"),
        ("v1.2.3", CHANGELOG, "version: 1.2.2\n", "CITATION.cff does not name the version 1.2.3"),
    ],
)
def test_release_that_is_not_ready(tag: str, changelog: str, citation: str, problem: str) -> None:
    (found,) = load("wheels/release.py").problems(tag, "1.2.3", changelog, citation)
    assert problem in found


def test_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PYPROJECT["project"]["version"]


# --- the project's home and the page of a package index


def test_home_of_the_project_stands_in_one_line() -> None:
    home = load("wheels/home.py").read_home()
    owner = home.repository.removeprefix("https://github.com/")
    command = ["git", "grep", "-I", "--untracked", "-n", "-i", "-F"]
    for text, places in (
        (home.repository, ["pyproject.toml"]),
        (home.manual.removesuffix("/"), []),
        (f"{owner}@", []),  # as workflows name an action
    ):
        done = subprocess.run([*command, text], cwd=ROOT, capture_output=True, text=True)
        found = done.stdout.splitlines()
        assert [line.split(":")[0] for line in found] == places, found


@pytest.mark.parametrize("home", ["https://example.org/a", "https://github.com/a", ""])
def test_another_kind_of_home_is_refused(home: str) -> None:
    with pytest.raises(ValueError, match="not of the form https://github.com/OWNER/NAME"):
        load("wheels/home.py").read_home(home)


def metadata(folder: Path) -> str:
    """The metadata that a build writes, without compiling."""
    code = "from scikit_build_core.build import prepare_metadata_for_build_wheel as prepare\n"
    printed(f"{code}prepare({str(folder)!r})", seconds=600, cwd=ROOT)
    (found,) = folder.glob("*.dist-info/METADATA")
    return found.read_text(encoding="utf-8")


def test_page_of_a_package_index_has_the_readme_and_only_absolute_links(tmp_path: Path) -> None:
    from readme_renderer import markdown

    found = message_from_string(metadata(tmp_path))
    assert found["Description-Content-Type"] == "text/markdown"
    assert {each.partition(", ")[0] for each in found.get_all("Project-URL", [])} == {
        *("Homepage", "Documentation", "Changelog", "Issues")
    }
    page = markdown.render(str(found.get_payload()))
    assert page is not None
    links = re.findall(r'(?:href|src)="([^"#][^"]*)"', page)
    home = load("wheels/home.py").read_home()
    assert len(links) >= 18 and all(link.startswith("https://") for link in links)
    assert f"{home.manual}_images/memory.svg" in links
    # Every page of the manual and every file that it links to exists in this checkout.
    version = PYPROJECT["project"]["version"]
    for link in links:
        if link.startswith(home.manual) and link.endswith(".html"):
            page_name = link.removeprefix(home.manual).replace(".html", ".md")
            assert (ROOT / "docs" / page_name).is_file(), link
        elif link.startswith(home.repository):
            file = link.removeprefix(f"{home.repository}/blob/v{version}/")
            assert (ROOT / file).is_file(), link


# --- the sdist


def sdist(folder: Path) -> Path:
    """The sdist's unpacked sources."""
    build = f"from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})"
    printed(build, seconds=600, cwd=ROOT)
    (archive,) = folder.glob("refarray-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def test_sdist_has_every_source_and_configures_offline(tmp_path: Path) -> None:
    """A build of the sdist finds its headers among the build requirements. It downloads nothing:
    the network is out of reach."""
    unpacked = sdist(tmp_path)
    listed = subprocess.run(
        ["git", "ls-files", "src", "include", "cmake"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    ).stdout.split()
    assert not [name for name in listed if not (unpacked / name).is_file()]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    environment = {**os.environ, **nowhere}
    cmake, ninja = (
        shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        for name in ("cmake", "ninja")
    )
    assert cmake is not None and ninja is not None
    options = ["-DREFARRAY_PYTHON=ON", "-DREFARRAY_TESTS=OFF", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    options += [f"-DREFARRAY_DOWNLOAD_{name}=OFF" for name in ("DLPACK", "EIGEN")]
    options.append(f"-DPython_EXECUTABLE={sys.executable}")
    options.append(f"-DCMAKE_PREFIX_PATH={sysconfig.get_path('purelib')}")
    subprocess.run(
        [cmake, "-G", "Ninja", "-S", unpacked, "-B", tmp_path / "build", *options],
        check=True,
        env=environment,
        capture_output=True,
    )
    planned = subprocess.run(
        [ninja, "-C", tmp_path / "build", "-t", "commands"],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    ).stdout
    folders = ("extension", "refarray/conformance/native", "core")
    assert all(f"{unpacked}/src/{name}" in planned for name in folders)


# --- symbols of an old glibc

LISTING = """\
0000000000000000 A GLIBC_2.2.5
00000000000a1000 T dlopen@@GLIBC_2.34
00000000000a1000 T dlopen@GLIBC_2.2.5
000000000008f1c0 T pthread_cond_wait@GLIBC_2.2.5
000000000008f1d0 T pthread_cond_wait@@GLIBC_2.3.2
0000000000041000 T exp@GLIBC_2.2.5
0000000000041000 i exp@@GLIBC_2.29
0000000000042000 T memcpy@@GLIBC_2.14
0000000000042000 T memcpy@GLIBC_2.2.5
00000000001c0000 D stderr@@GLIBC_2.2.5
0000000000030000 T arc4random@@GLIBC_2.36
0000000000030000 T __libc_secret@@GLIBC_PRIVATE
0000000000030000 T gone@GLIBC_2.2.5
"""


def test_stub_has_the_newest_version_that_the_old_glibc_has() -> None:
    stubs = {stub.symbol: stub for stub in load("wheels/old_glibc.py").stubs(LISTING, "libc.so.6")}
    assert {name: stub.version for name, stub in stubs.items()} == {
        "dlopen": "GLIBC_2.2.5",
        "pthread_cond_wait": "GLIBC_2.3.2",
        "exp": "GLIBC_2.2.5",
        "memcpy": "GLIBC_2.14",
        "stderr": "GLIBC_2.2.5",
        "arc4random": "GLIBC_2.36",  # has no older one: the audit must name it
    }
    assert {name: stub.library for name, stub in stubs.items() if stub.library != "libc.so.6"} == {
        "dlopen": "libdl.so.2"  # where it was before glibc 2.34
    }
    assert [name for name, stub in stubs.items() if stub.is_variable] == ["stderr"]


SOURCE = """
#include <cmath>
#include <cstdio>
#include <dlfcn.h>
#include <memory>
#include <sys/stat.h>
extern "C" long size_of(const char* path, int file) {
  struct stat found{}, opened{};
  if (stat(path, &found) != 0 || fstat(file, &opened) != 0) return -1;
  return found.st_size == opened.st_size ? found.st_size : -2;
}
extern "C" double go(double x, double y, const char* name) {
  auto first = std::make_shared<double>(x);
  auto second = first;
  if (dlopen(name, RTLD_LAZY) == nullptr) std::fputs("not found", stderr);
  return std::exp(*second) + std::hypot(x, y) + std::pow(x, y);
}
"""


def test_linked_module_needs_no_newer_glibc_and_runs(tmp_path: Path) -> None:
    tool = load("wheels/old_glibc.py")
    libraries = tool.link_libraries(["g++"], tmp_path / "stubs")
    source, module = tmp_path / "module.cpp", tmp_path / "module.so"
    source.write_text(SOURCE)
    flags = ["-std=c++20", "-O1", "-fPIC", "-shared", "-static-libstdc++", "-Wl,--gc-sections"]
    subprocess.run(["g++", *flags, source, "-o", module, *libraries], check=True)
    listing = subprocess.run(
        ["nm", "-D", "--undefined-only", module], check=True, capture_output=True, text=True
    ).stdout
    versions = dict(re.findall(r" U (\S+?)@+(\S+)$", listing, re.MULTILINE))
    assert {"dlopen", "exp", "hypot", "pow", "stderr"} <= set(versions)
    glibc = filter(None, map(tool.number, versions.values()))
    assert max(glibc) <= tool.LIMIT
    assert "__libc_single_threaded" not in listing
    assert {"__xstat", "__fxstat"} <= set(versions) and not {"stat", "fstat"} & set(versions)
    script = (
        f"import ctypes, math; go = ctypes.CDLL({str(module)!r}).go\n"
        "go.restype = ctypes.c_double\n"
        "go.argtypes = [ctypes.c_double, ctypes.c_double, ctypes.c_char_p]\n"
        "assert go(3.0, 4.0, b'libm.so.6') == math.exp(3) + 5 + 81\n"
        f"size_of = ctypes.CDLL({str(module)!r}).size_of\n"
        f"file = open({str(source)!r})\n"
        f"assert size_of(file.name.encode(), file.fileno()) == {len(SOURCE)}\n"
        "file.close()\n"
    )
    done = python("-c", script)
    assert (done.returncode, done.stderr) == (0, "")
