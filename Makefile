# Everyday commands; `make help` lists them. Everything that a target needs is installed into .venv first.
PYTHON ?= python3
PARTNERS ?= light

VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
CMAKE := $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
DLPACK = -DDLPACK_INCLUDE_DIR="$$($(BIN)/tvm-ffi-config --dlpack-includedir)"
EIGEN = -DEIGEN_INCLUDE_DIR="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/cmeel.prefix/include/eigen3"
SOURCES := $(shell find src include cmake -type f -not -name '*.pyc') CMakeLists.txt pyproject.toml
CPP_SOURCES = $(shell find src include fakegpu tests benchmarks -name '*.cpp' -o -name '*.hpp')
PYTHON_SOURCES = $(wildcard src/refarray src/refarray_strict.py fakegpu tests tools benchmarks examples docs/conf.py)
MINORS := 3.11 3.12 3.13
# The newest CPython, unless PYTHON names one.
FINDINGS_PYTHON = $(if $(filter file,$(origin PYTHON)),python$(lastword $(MINORS)),$(PYTHON))
LOCKS := $(wildcard tools/locks/*.txt)
# $(call run,COMMAND,LOG): runs a build, shows every tenth step, and the end of the log if it fails.
run = mkdir -p $(dir $2) && rm -f $2.failed && { $1 2>&1 || touch $2.failed; } | tee $2.txt \
  | sed -un 's/^ *\(\[[0-9]*0\/[0-9]*\]\).*/\1/p' && { test ! -e $2.failed || { tail -n 60 $2.txt; exit 1; }; }
GATES := $(shell sed -n 's/^gate-\([a-z0-9-]*\):.*/\1/p' Makefile)

.PHONY: help demo test check format docs bench wheels lock findings gate clean
.NOTPARALLEL:
.SILENT:
.DELETE_ON_ERROR:
# Tests start hundreds of processes, which would each compile the modules that they import.
unexport PYTHONDONTWRITEBYTECODE

help: ## list these targets; the times are those of a first run on two cores
	sed -n 's/^\([a-z]*\):.*## /  make \1|/p' Makefile | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

demo: $(VENV)/package $(VENV)/light $(if $(filter all,$(PARTNERS)),$(VENV)/partners) ## 3 minutes: exchange arrays with NumPy, ml_dtypes and tvm-ffi; PARTNERS=all adds PyTorch and JAX
	$(BIN)/python examples/demo.py $(if $(filter all,$(PARTNERS)),--all)

test: ## 16 minutes: C++ tests, the abi3 wheel on the oldest and newest CPython found, pytest with all partners
	$(MAKE) --no-print-directory $(VENV)/build
	mkdir -p build
	# Downloads wait for the network, compilers for the processor. What fails here is tried again by its own target.
	$(MAKE) --no-print-directory environments > build/environments.txt 2>&1 & \
	  $(MAKE) --no-print-directory ctest; status=$$?; wait; cat build/environments.txt; \
	  $(MAKE) --no-print-directory --keep-going abi3 pytest LAYERS=$(abspath build/cpp) && exit $$status

check: $(VENV)/package $(VENV)/test $(VENV)/partners $(VENV)/dev ## 16 minutes: formatting, linters, types, house rules, a build with warnings as errors
	echo "== clang-format"
	$(BIN)/clang-format --dry-run -Werror $(CPP_SOURCES)
	echo "== ruff"
	$(BIN)/ruff check --quiet $(PYTHON_SOURCES)
	$(BIN)/ruff format --check --quiet $(PYTHON_SOURCES)
	echo "== mypy and stubtest"
	$(BIN)/mypy --strict src/refarray src/refarray_strict.py
	$(BIN)/mypy --strict --platform win32 --follow-imports=silent src/refarray/_system/windows.py
	MYPYPATH=src $(BIN)/stubtest refarray --allowlist tools/stubtest.txt
	echo "== pyright: every public name has a known type; a user's module and the code of the manual, also by mypy"
	mkdir -p build
	PATH="$(abspath $(BIN)):$$PATH" pyright --ignoreexternal --verifytypes refarray > build/verifytypes.txt \
	  || { cat build/verifytypes.txt; exit 1; }
	$(BIN)/mypy --strict tests/package/typed_user.py
	PATH="$(abspath $(BIN)):$$PATH" pyright tests/package/typed_user.py
	$(BIN)/python tools/docs/typed_pages.py
	echo "== workflows, action and citation"
	$(BIN)/actionlint
	$(BIN)/zizmor --offline --quiet .github action.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	echo "== wheels of a release"
	$(BIN)/python tools/wheels/configured.py
	echo "== house rules"
	$(BIN)/python tools/house.py
	echo "== lines by hand"
	$(BIN)/python tools/lines.py > /dev/null
	echo "== docs/architecture.md against the tree"
	$(BIN)/python tools/docs/architecture.py
	echo "== rows of functions: stubs, page of the manual, and a test for each"
	$(BIN)/python tools/rows --check
	echo "== build with warnings as errors"
	$(CMAKE) -S . -B build/check $(DLPACK) $(EIGEN) -DREFARRAY_DEVELOPER=ON -DREFARRAY_PYTHON=ON \
	  -DPython_EXECUTABLE=$(abspath $(BIN)/python) > /dev/null
	$(BIN)/cmake --build build/check -- --quiet

format: $(VENV)/dev ## 1 minute: format the sources
	$(BIN)/clang-format -i $(CPP_SOURCES)
	$(BIN)/ruff check --quiet --fix-only --select I $(PYTHON_SOURCES)
	$(BIN)/ruff format --quiet $(PYTHON_SOURCES)

docs: $(VENV)/package $(VENV)/docs ## 6 minutes: build the manual into docs/_build/html
	echo "== notebook"
	$(BIN)/python tools/docs/notebook.py --check
	echo "== sphinx"
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

bench: ## 5 minutes: benchmarks, B=exchange (default) copies ops growth shared footprint abi threads gpu; SAVE=1 records the result
	$(MAKE) --no-print-directory bench-$(or $(B),exchange)

wheels: $(VENV)/build $(VENV)/audit ## 13 minutes: the sdist, and audited wheels for the CPythons on this machine, into dist/
	$(BIN)/python tools/wheels $(OBJECTS)

lock: ## 1 minute: renew tools/locks: the newest versions that pyproject.toml allows, for each supported CPython
	$(MAKE) --no-print-directory VENV=build/lock build/lock/lock
	for minor in $(MINORS); do \
	  build/lock/bin/python tools/requirements.py locked | build/lock/bin/uv pip compile - --quiet --upgrade --generate-hashes \
	    --python-version $$minor --python-platform x86_64-manylinux_2_28 --no-emit-index-url --annotation-style line \
	    --custom-compile-command "make lock" --output-file tools/locks/$$minor.txt > /dev/null || exit 1; \
	done
	git diff --stat -- tools/locks

# The lock holds an older PyTorch than the newest, of which the register is.
findings: UPGRADE ?= $(filter torch,$(or $(LIBRARY),torch))
findings: ## 20 minutes: run the conformance kit on the newest release of every library and compare with the register; LIBRARY=torch for one, UPGRADE= not beyond the lock, PYTHON=python3.11 for the oldest CPython's
	$(MAKE) --no-print-directory VENV=build/findings/$(notdir $(FINDINGS_PYTHON)) PYTHON=$(FINDINGS_PYTHON) UPGRADE="$(UPGRADE)" findings-here

.PHONY: findings-here
findings-here: $(VENV)/package $(VENV)/test $(VENV)/partners
	$(if $(UPGRADE),$(PIP) install --upgrade $(UPGRADE))
	$(BIN)/python tools/findings/findings.py $(LIBRARY)

# CANARY=1 plants the gate's bug (tests/gates/canary/GATE.patch) in a copy of the tree and runs the gate there.
# Each run leaves a dated summary, build/gates/GATE.toml; RECORD=1 also records it in docs/gates, and its output on the branch `records`.
gate: ## run a gate: G=asan; without G list the gates; CANARY=1 proves that the gate catches a planted bug
ifndef G
	sed -n 's/^gate-\([a-z0-9-]*\):.*## /  make gate G=\1|/p' Makefile | awk -F'|' '{ printf "%-32s %s\n", $$1, $$2 }'
else ifeq ($(filter $(G),$(GATES)),)
	echo "no gate '$(G)'; there are: $(GATES)" >&2; exit 2
else ifdef CANARY
	$(MAKE) --no-print-directory $(VENV)/pip
	$(BIN)/python tools/gates/canary.py $(G)
else
	$(PYTHON) tools/summary.py $(G)
endif

clean: ## remove everything that was built here
	rm -rf build dist docs/_build $(VENV)

# The parts of `make test`. LAYERS: the build of ctest, whose layers the packages link instead of compiling their own.
.PHONY: ctest abi3 pytest environments
environments: $(VENV)/audit $(VENV)/test $(VENV)/partners
	$(BIN)/python tools/gates/abi3.py --environments

ctest: $(VENV)/build
	echo "== C++ tests, built without Python"
	$(CMAKE) -S . -B build/cpp $(DLPACK) $(EIGEN) > /dev/null
	$(call run,$(BIN)/cmake --build build/cpp,build/cpp-steps)
	$(BIN)/ctest --test-dir build/cpp --parallel $$(nproc) --output-on-failure | tail -n +3

abi3: $(VENV)/build $(VENV)/audit
	$(BIN)/python tools/gates/abi3.py $(LAYERS)

pytest: $(VENV)/package $(VENV)/test $(VENV)/partners
	echo "== pytest with every partner"
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=worksteal --durations=25 --durations-min=5 $(or $(TESTS),tests)

# The parts of `make bench`.
BENCHES := exchange copies ops growth shared footprint abi
.PHONY: $(BENCHES:%=bench-%) bench-copy bench-threads bench-gpu
$(BENCHES:%=bench-%): $(VENV)/package $(VENV)/light $(VENV)/partners $(VENV)/bench
	$(BIN)/python -m benchmarks $(@:bench-%=%) $(if $(SAVE),--save)

bench-copy: bench-copies

bench-threads: $(VENV)/build $(VENV)/test
	$(BIN)/python tools/gates/freethreaded.py --bench $(if $(SAVE),--save)

bench-gpu: $(VENV)/package $(VENV)/test
	$(BIN)/python -m benchmarks.gpu $(if $(SIMULATED),--simulated) $(foreach part,$(WITHOUT),--without "$(part)")

# The gates. Each throws more at the code than `make test` does, and each must catch a planted bug.
gate-asan: $(VENV)/build $(VENV)/test $(VENV)/partners ## C++ tests and pytest under ASAN, UBSAN and LSan; TESTS="files" for some
	$(BIN)/python tools/gates/asan.py $(TESTS)

gate-tsan: $(VENV)/build $(VENV)/test ## C++ tests and races under TSAN, on an instrumented free-threaded CPython and on this one
	$(BIN)/python tools/gates/tsan.py $(TESTS)

gate-test-freethreaded: $(VENV)/build $(VENV)/test ## the test suite on a free-threaded CPython with the GIL off; builds one the first time
	$(BIN)/python tools/gates/freethreaded.py $(TESTS)

gate-test-long: $(VENV)/package $(VENV)/test ## a million races on each kind of capsule, ten times the Hypothesis examples, every simulated driver, functions of every number
	echo "== two threads on one object, a million rounds on each kind of capsule"
	$(BIN)/python -m pytest -q --lockstep-rounds=200000 --durations=3 tests/dlpack/test_lockstep.py
	seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')) && \
	  echo "== properties and models, ten times the examples, drawn anew: SEED=$$seed draws the same" && \
	  $(BIN)/python -m pytest -q --long=10 --hypothesis-seed=$$seed --durations=3 $$(grep -rl --include='test_*.py' 'hypothesis import' tests)
	echo "== every simulated driver, and every driver call that can fail"
	$(BIN)/python -m pytest -q --long=2 --durations=3 -m long tests/devices/test_gpu.py tests/fakegpu
	echo "== functions of every 16-bit and 32-bit floating-point number, an hour on two processors"
	$(BIN)/python -m pytest -q --long=2 --durations=3 --numprocesses=auto --dist=worksteal -m long tests/compute

# Each target from a checkout and an environment of its own: what it needs must be in its groups.
gate-targets: ## the targets of `make help` in a clean checkout, each from an empty environment, with the time of each; TARGETS="demo docs" for some
	rm -rf build/targets
	git clone --quiet . build/targets
	for target in $(or $(TARGETS),demo docs format check wheels lock bench findings test); do \
	  echo "== make $$target"; started=$$(date +%s); \
	  $(MAKE) --no-print-directory -C build/targets VENV=build/$$target-venv $$target || exit 1; \
	  echo "make $$target took $$(( $$(date +%s) - started )) s from an empty environment"; \
	  rm -rf build/targets/build/$$target-venv; \
	done

gate-newest: ## pytest with the newest releases of all partners and tools in an environment of its own, and what is newer than in the lock
	rm -rf build/newest
	$(MAKE) --no-print-directory NEWEST=1 VENV=build/newest build/newest/build build/newest/test build/newest/partners
	echo "== changed against the lock"
	build/newest/bin/python tools/requirements.py --changes
	$(MAKE) --no-print-directory NEWEST=1 VENV=build/newest pytest

gate-test-partners: $(VENV)/pip ## heavy partners, and the calls of 80 libraries, in environments of their own (12 GB); PARTNER=polars runs one, UPDATE=1 records the calls' outcomes
	$(BIN)/python tools/gates/partners $(if $(UPDATE),--update) $(PARTNER)

gate-test-foreign: $(VENV)/build ## other projects' released tests with refarray's arrays; SUITE=numpy runs some, UPDATE=1 records the results
	$(BIN)/python tools/gates/foreign_suites.py $(if $(UPDATE),--write) $(SUITE)

gate-test-consumers: $(VENV)/pip ## other projects' released tests with array-api-strict and with refarray.strict; PROJECT=scipy-fft runs some, UPDATE=1 records the counts
	$(BIN)/python tools/gates/consumers $(if $(UPDATE),--write) $(PROJECT)

gate-mutants: $(VENV)/$(if $(OWN_BUILD),build,package) $(VENV)/test ## broken producers and consumers against the conformance kit, and bugs generated in every source against the tests; FOLDER="src/dlpack" for some, LIMIT=50 of each, SEED=1, TESTS="files", RECORD=1
	$(if $(FOLDER),,PYTHONPATH=tests:fakegpu $(BIN)/python -m mutants)
	$(BIN)/python tools/gates/mutants $(TESTS) $(if $(RECORD),--record) --folder $(or $(FOLDER),src/) \
	  --limit $(or $(LIMIT),300) --seed $(or $(SEED),32)

gate-fuzz: $(VENV)/build ## libFuzzer on import, copy, layout, computations, products and indexing, on calls with hostile arguments and headers of files: FUZZ_RUNS executions (10000000) in two processes; FUZZ_TARGET=extension, FUZZ_SECONDS=18000, FUZZ_RANDOM=1000000000 more without a fuzzer
	$(BIN)/python tools/gates/fuzz.py

gate-refleak: $(VENV)/build $(VENV)/test ## repeat every partner-free test: no memory block, reference or descriptor may leak
	$(BIN)/python tools/gates/refleak.py $(TESTS)

gate-memcheck: $(VENV)/build $(VENV)/test ## C++ tests but those of computations, and the exchange tests, under valgrind
	$(BIN)/python tools/gates/memcheck.py $(TESTS)

gate-without-compute: $(VENV)/build $(VENV)/test ## the array and its exchange, built and tested without what computes; TESTS="files" for some
	$(BIN)/python tools/gates/without_compute.py $(TESTS)

gate-small-stacks: $(VENV)/build $(VENV)/test ## every public call, and matrices of many orders, in threads with stacks of 64 KiB
	$(BIN)/python tools/gates/small_stacks.py

gate-rust: $(VENV)/package $(VENV)/test ## the example extension in Rust, built by the machine's rustc: its tests, and the conformance kit
	$(BIN)/python tools/gates/rust_example.py

gate-shared: $(VENV)/$(if $(OWN_BUILD),build,package) $(VENV)/test ## processes that share arrays, KILLS=1000 of them killed for each of SEEDS=3, also under TSAN; TESTS="files" for some
	$(BIN)/python tools/gates/shared.py $(TESTS)

gate-engines: $(VENV)/build $(VENV)/engines ## arrays in Ray's object store, between Dask's workers and two MPI ranks, with the released packages; TESTS="files" for some
	$(BIN)/python tools/gates/engines.py $(TESTS)

gate-trust: $(VENV)/build $(VENV)/light ## hostile input and failing allocations: a table of inputs and outcomes
	$(BIN)/python tools/gates/trust.py

gate-coverage: $(VENV)/build $(VENV)/test $(VENV)/coverage ## lines and branches of the native code that the tests reach; pages in build/coverage/html; TESTS="files" for some
	$(BIN)/python tools/gates/coverage.py $(TESTS)

gate-mcdc: $(VENV)/build $(VENV)/test ## each condition of validation, export, negotiation and indexing: do the tests show that it matters?
	$(BIN)/python tools/gates/mcdc

gate-bench-check: $(VENV)/build $(VENV)/light $(VENV)/partners ## instructions of each exchange against the budget; UPDATE=1 rewrites the budget
	$(BIN)/python -m benchmarks.budget $(if $(UPDATE),--update)

# A canary, OWN_BUILD=1, must not install its bug into the environment.
gate-demo-gpu: $(VENV)/$(if $(OWN_BUILD),build,package) ## exchange arrays between simulated CUDA and ROCm devices, and print the driver calls
	$(BIN)/python $(if $(OWN_BUILD),tools/gates/simulation/demo_gpu.py,examples/demo_gpu.py)

gate-test-fakegpu: $(VENV)/build ## the wheel of refarray-fakegpu in an environment of its own: its tests, and an example with a missing wait
	$(BIN)/python tools/gates/simulation/fakegpu_wheel.py

gate-gpu-sim-tsan: $(VENV)/build $(VENV)/test ## arrays on the simulated drivers under TSAN: unordered work is a race
	$(BIN)/python tools/gates/gpu_sim_tsan.py $(TESTS)

gate-gpu-mutants: ## the same bugs of the GPU layer only, on every simulated driver
	$(MAKE) --no-print-directory gate-mutants FOLDER=src/runtime

gate-gpu-nodevice: $(VENV)/build $(VENV)/test $(VENV)/headers ## the vendors' real drivers without a device, and their headers against our declarations
	$(BIN)/python tools/gates/gpu_nodevice.py

gate-aarch64: $(VENV)/build ## the extension, C++ and Python tests for aarch64: a cross compiler, an emulator and an arm64 Python; TESTS="files" for some
	$(BIN)/python tools/gates/aarch64 $(TESTS)

gate-platforms: $(VENV)/build $(VENV)/audit $(VENV)/cross ## wheels for macOS, Windows and musl by a cross compiler, with their C++ tests as far as they run here, under wine for Windows; the C++ layers by clang with libc++; P=aarch64-macos for one
	$(BIN)/python tools/gates/platforms $(P)

gate-new-pythons: $(VENV)/build $(VENV)/audit ## the whole suite with the abi3 wheel on CPythons that Debian has not released; P=3.14 for one, TESTS="files" for some
	$(BIN)/python tools/gates/new_pythons.py $(P) $(TESTS)

gate-gpu-kernels-check: $(VENV)/kernels ## the device kernels' images match their sources, and ptxas assembles the PTX
	$(BIN)/python tools/gpu/gpu_kernels.py --check

gate-gpu-kernels: ## compile the device kernels with clang 19 into src/runtime/kernels/images
	$(PYTHON) tools/gpu/gpu_kernels.py

# The official suite of the array API standard is no package: its folder must be given.
.PHONY: array-api-tests
array-api-tests: $(VENV)/build # the official suite: SUITE=folder; VERSION=2024.12: of an earlier version; STRICT=1: on the strict namespace; DEVICE=cuda:0: on a simulated device; UPDATE=1 rewrites tests/compute/official_suite.toml
	$(BIN)/python tools/gates/array_api_tests.py $(if $(UPDATE),--write) $(if $(VERSION),--version $(VERSION)) $(if $(STRICT),--strict) $(if $(DEVICE),--device $(DEVICE)) $(if $(PACKAGE),--package $(PACKAGE)) "$(SUITE)"

gate-canary: $(VENV)/pip ## plant every gate's bug in a copy of the tree: each must be caught
	$(BIN)/python tools/gates/canary.py --all

# Short names: `make asan` is `make gate G=asan`.
.PHONY: $(GATES) $(GATES:%=gate-%) gpu-hardware
$(GATES):
	$(MAKE) --no-print-directory gate G=$@
gpu-hardware: bench-gpu

# Each file below marks a finished step; it is made again when its prerequisites change.
$(VENV)/pip:
	echo "== environment in $(VENV)"
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "refarray needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/build $(VENV)/light $(VENV)/test $(VENV)/partners $(VENV)/engines $(VENV)/bench $(VENV)/audit $(VENV)/cross $(VENV)/coverage $(VENV)/kernels $(VENV)/headers $(VENV)/dev $(VENV)/docs $(VENV)/lock: pyproject.toml $(LOCKS) | $(VENV)/pip
	echo "== install the '$(@F)' requirements"
	$(BIN)/python tools/requirements.py --install $(@F)
	touch $@

$(VENV)/package: $(SOURCES) | $(VENV)/build
	echo "== build and install refarray"
	$(call run,$(BIN)/python -m pip --disable-pip-version-check -v install --no-build-isolation --no-deps --force-reinstall \
	  $(if $(LAYERS),--config-settings=cmake.define.REFARRAY_LAYERS=$(LAYERS)) .,build/package-steps)
	touch $@
