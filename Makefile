# One command each for what a developer does here; `make help` lists them.
PYTHON ?= python3
PARTNERS ?= light

VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
CMAKE := $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
DLPACK = -DDLPACK_INCLUDE_DIR="$$($(BIN)/tvm-ffi-config --dlpack-includedir)"
SOURCES := $(shell find src include cmake -type f -not -name '*.pyc') CMakeLists.txt pyproject.toml
CPP_SOURCES = $(shell find src include tests benchmarks -name '*.cpp' -o -name '*.hpp')
PYTHON_SOURCES = $(wildcard src/refarray tests tools benchmarks examples docs/conf.py)

.PHONY: findings help demo test test-long test-freethreaded test-partners ctest pytest abi3 check format bench docs bench-copy bench-abi bench-threads bench-docs bench-check asan tsan fuzz refleak memcheck trust coverage gpu-kernels gpu-kernels-check canary clean zoo demo-gpu
.NOTPARALLEL:
.SILENT:
.DELETE_ON_ERROR:

help: ## this list
	sed -n 's/^\([a-z0-9-]*\):.*## /  make \1|/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

demo: $(VENV)/package $(VENV)/light $(if $(filter all,$(PARTNERS)),$(VENV)/partners) ## exchange arrays with the partners found; PARTNERS=all adds PyTorch and JAX
	$(BIN)/python examples/demo.py $(if $(filter all,$(PARTNERS)),--all)

test: ## the C++ tests, the abi3 wheel on other interpreters, pytest with every partner
	$(MAKE) --no-print-directory --keep-going ctest abi3 pytest

ctest: $(VENV)/build
	echo "== C++ tests, built without Python"
	$(CMAKE) -S . -B build/cpp $(DLPACK) > /dev/null
	$(BIN)/cmake --build build/cpp -- --quiet
	$(BIN)/ctest --test-dir build/cpp --output-on-failure | tail -n +3

pytest: $(VENV)/package $(VENV)/test $(VENV)/partners
	echo "== pytest with every partner"
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=worksteal tests

test-long: $(VENV)/package $(VENV)/test ## tests that take minutes: a million races over each kind of capsule, ten times Hypothesis's examples
	echo "== two threads on one object, a million rounds over each kind of capsule"
	$(BIN)/python -m pytest -q --lockstep-rounds=200000 --durations=3 tests/dlpack/test_lockstep.py
	echo "== properties and models, ten times the examples"
	$(BIN)/python -m pytest -q --long=10 --durations=3 $(shell grep -l 'import.* settings' tests/*/test_*.py)
	echo "== every simulated driver and every call of one that can fail"
	$(BIN)/python -m pytest -q --long=2 --durations=3 -m long tests/devices/test_gpu.py tests/devices/test_gpu_faults.py

abi3: $(VENV)/build $(VENV)/audit
	$(BIN)/python tools/gates/abi3.py

test-partners: $(VENV)/pip ## partners that need an environment of their own; PARTNER=tensorflow runs one
	$(BIN)/python tools/gates/partner_environments.py $(PARTNER)

zoo: $(VENV)/package ## every broken producer and consumer against the conformance kit; prints the kill rate
	PYTHONPATH=tests:tests/fakegpu $(BIN)/python -m mutants

findings: $(VENV)/package $(VENV)/test $(VENV)/partners ## the kit on every released library, each repro again, against the register; LIBRARY=numpy for one
	$(BIN)/python tools/findings/findings.py $(LIBRARY)

check: $(VENV)/package $(VENV)/test $(VENV)/dev ## formatting, linters, types, house rules, a build with warnings as errors
	echo "== clang-format"
	$(BIN)/clang-format --dry-run -Werror $(CPP_SOURCES)
	echo "== ruff"
	$(BIN)/ruff check --quiet $(PYTHON_SOURCES)
	$(BIN)/ruff format --check --quiet $(PYTHON_SOURCES)
	echo "== mypy and stubtest"
	$(BIN)/mypy --strict src/refarray
	$(BIN)/stubtest refarray
	echo "== house rules"
	$(BIN)/python tools/house.py
	echo "== build with warnings as errors"
	$(CMAKE) -S . -B build/check $(DLPACK) -DREFARRAY_DEVELOPER=ON -DREFARRAY_PYTHON=ON \
	  -DPython_EXECUTABLE=$(abspath $(BIN)/python) > /dev/null
	$(BIN)/cmake --build build/check -- --quiet

format: $(VENV)/dev ## lay the sources out as `make check` wants them
	$(BIN)/clang-format -i $(CPP_SOURCES)
	$(BIN)/ruff check --quiet --fix-only --select I $(PYTHON_SOURCES)
	$(BIN)/ruff format --quiet $(PYTHON_SOURCES)

gpu-kernels: ## compile the device kernels ahead with clang 19, into src/runtime/kernels/images
	$(PYTHON) tools/gpu/gpu_kernels.py

bench: $(VENV)/package $(VENV)/light $(VENV)/partners ## time the exchanges side by side with every partner
	$(BIN)/python -m benchmarks

bench-copy: $(VENV)/package $(VENV)/light $(VENV)/partners ## time strided copies against memcpy, NumPy, PyTorch and HPTT (REFARRAY_BENCH_HPTT); SAVE=1 records it
	$(BIN)/python -m benchmarks.copies $(if $(SAVE),--save)

bench-abi: $(VENV)/build $(VENV)/light $(VENV)/partners ## the abi3 build beside the full-API build, both on Python 3.12; SAVE=1 records it
	$(BIN)/python -m benchmarks.abi $(if $(SAVE),--save)

bench-threads: $(VENV)/build $(VENV)/test ## two threads beside one on a free-threaded CPython; SAVE=1 records it
	$(BIN)/python tools/gates/freethreaded.py --bench $(if $(SAVE),--save)

.PHONY: gpu-hardware
gpu-hardware: $(VENV)/package $(VENV)/test ## all that a machine with an NVIDIA GPU can say, in ten minutes; SIMULATED=1 shows that it works
	$(BIN)/python -m benchmarks.gpu $(if $(SIMULATED),--simulated)

bench-docs: $(VENV)/docs ## the manual's page of figures and its plots, out of benchmarks/results
	$(BIN)/python -m benchmarks.pages

docs: $(VENV)/package $(VENV)/docs ## the manual, into docs/_build/html
	echo "== sphinx"
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

# A gate is a target that must fail on a planted bug: tests/gates/canary/GATE.patch, or it has not been shown to be alive.
ifdef CANARY
.PHONY: $(MAKECMDGOALS)
$(MAKECMDGOALS): $(VENV)/pip
	$(BIN)/python tools/gates/canary.py $@
else

bench-check: $(VENV)/build $(VENV)/light $(VENV)/partners ## instructions of the exchanges against their budget; UPDATE=1 rewrites it
	$(BIN)/python -m benchmarks.budget $(if $(UPDATE),--update)

demo-gpu: $(VENV)/build ## exchange arrays between simulated CUDA and ROCm devices, and show what their drivers were asked
	$(BIN)/python tools/gates/demo_gpu.py

asan: $(VENV)/build $(VENV)/test $(VENV)/partners ## the C++ tests and pytest under ASAN, UBSAN and LSan; TESTS="files" for some
	$(BIN)/python tools/gates/asan.py $(TESTS)

tsan: $(VENV)/build $(VENV)/test ## the C++ tests and the races under TSAN, on an instrumented free-threaded CPython and on this one
	$(BIN)/python tools/gates/tsan.py $(TESTS)

test-freethreaded: $(VENV)/build $(VENV)/test ## the test suite on a free-threaded CPython, the GIL off; builds one the first time
	$(BIN)/python tools/gates/freethreaded.py $(TESTS)

fuzz: $(VENV)/build ## libFuzzer over import, copy and layout: FUZZ_RUNS executions (10000000) of two processes
	$(BIN)/python tools/gates/fuzz.py

refleak: $(VENV)/build $(VENV)/test ## every partner-free test again and again: nothing may be left behind
	$(BIN)/python tools/gates/refleak.py $(TESTS)

.PHONY: gpu-sim-tsan
gpu-sim-tsan: $(VENV)/build $(VENV)/test ## arrays on the simulated drivers under ThreadSanitizer: what nothing orders is a race
	$(BIN)/python tools/gates/gpu_sim_tsan.py $(TESTS)

memcheck: $(VENV)/build $(VENV)/test ## the C++ tests and the tests of exchange under valgrind
	$(BIN)/python tools/gates/memcheck.py $(TESTS)

trust: $(VENV)/build $(VENV)/light ## hostile input and failing allocations: a table of what was thrown and what became of it
	$(BIN)/python tools/gates/trust.py

coverage: $(VENV)/build $(VENV)/test $(VENV)/coverage ## which lines and branches of the native code the tests reach; pages in build/coverage/html
	$(BIN)/python tools/gates/coverage.py

gpu-kernels-check: $(VENV)/kernels ## the device kernels' images: those of the sources, assembled by ptxas, and compiled again where clang 19 is
	$(BIN)/python tools/gpu/gpu_kernels.py --check

.PHONY: gpu-nodevice
gpu-nodevice: $(VENV)/build $(VENV)/test $(VENV)/headers ## NVIDIA's and AMD's own drivers with no device, and their headers against our declarations
	$(BIN)/python tools/gates/gpu_nodevice.py

canary: $(VENV)/pip ## plant each gate's bug in a copy of the tree: every one must be caught; GATE CANARY=1 for one
	$(BIN)/python tools/gates/canary.py --all

endif

clean: ## remove everything that was built here
	rm -rf build dist docs/_build $(VENV)

# Each file below stands for a finished step; it is made again when what it depends on has changed.
$(VENV)/pip:
	echo "== environment in $(VENV)"
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "refarray needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/build $(VENV)/light $(VENV)/test $(VENV)/partners $(VENV)/audit $(VENV)/coverage $(VENV)/kernels $(VENV)/headers $(VENV)/dev $(VENV)/docs: pyproject.toml | $(VENV)/pip
	echo "== install what '$(@F)' needs"
	$(BIN)/python tools/requirements.py $(@F) > $@.txt
	$(PIP) install -r $@.txt
	touch $@

$(VENV)/package: $(SOURCES) | $(VENV)/build
	echo "== build and install refarray"
	$(PIP) install --no-build-isolation --no-deps --force-reinstall .
	touch $@
