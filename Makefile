# Everything runs in .venv at the root; `make setup` makes it from Python 3.11+ and the package index alone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUNS := $(VENV)/.runs
export OMP_NUM_THREADS = 1
export PYTHONDONTWRITEBYTECODE =

.PHONY: setup demo test test-fast test-plain test-full reliability check audit check-quantus format bench journey docs renew \
	readme experiments coverage clean

setup: $(READY)

# What running needs; tools for developers come with the first test.
$(RUNS): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "assay needs Python 3.11 or newer"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(READY): $(RUNS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(RUNS)
	$(BIN)/assay demo --store runs/demo

test: setup
	@start=$$(date +%s); \
	$(BIN)/python -m pytest -n 2 -m "not full" --durations=20; status=$$?; \
	echo "make test took $$(( $$(date +%s) - start )) s"; exit $$status

# Lint, types, and the tests that the files changed since a commit can break, nearest first, as many as fit a minute.
BASE ?= HEAD
test-fast: setup
	$(BIN)/ruff format --check src tests examples benchmarks
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --changed $(BASE) || [ $$? -eq 5 ]  # 5: no test is concerned
	@echo "These were the tests nearest to what changed since $(BASE); 'make test' runs all."

# `make test` under the simplest instruction set, where rounding differs.
test-plain: export ATEN_CPU_CAPABILITY = default
test-plain: export ONEDNN_MAX_CPU_ISA = SSE41
test-plain: test

test-full: setup check
	$(BIN)/python -m pytest -n 2 --record --durations=20
	bash tests/wheel.sh

# Kills, full disks, damaged bytes, lost schedulers: half an hour on two cores. Writes the page with the numbers.
reliability: setup
	PYTHONPATH=tests $(BIN)/python -m reliability --write docs/reliability.md

check: setup
	$(BIN)/ruff format --check src tests examples benchmarks
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q tests/test_architecture.py
	$(BIN)/python tests/audit.py

# Installed packages against constraints.txt. Needs no network.
audit: setup
	$(BIN)/python tests/audit.py

# Faults of a released package, found through its own call; in environments of their own, with and without np.trapz.
check-quantus: build/quantus-numpy23/.ready build/quantus-numpy24/.ready
	build/quantus-numpy23/bin/python tests/quantus/run.py build

build/quantus-numpy23/.ready: NUMPY := numpy<2.4
build/quantus-numpy24/.ready: NUMPY := numpy>=2.4,<2.5
build/quantus-%/.ready: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check 'quantus==0.6.0' 'torch<2.14' '$(NUMPY)' -e .
	@touch $@

format: setup
	$(BIN)/ruff format src tests examples benchmarks
	$(BIN)/ruff check --fix src tests examples benchmarks

# Speed and memory next to peers: TASK=kernel_shap or TASK='memory --json'; default: all tasks.
bench: setup
	$(BIN)/python -m benchmarks $(TASK)

# How many source files one question leads through.
journey: setup
	$(BIN)/python -m benchmarks.journey

# Generated files, and a list of the results on pages that the code may no longer give; PAGE=README, PAGE=experiments or
# PAGE=attributionlab/lime computes a block of those again and stamps them if every digit agrees.
renew: setup
	$(BIN)/python docs/renew.py $(PAGE)

# The gallery and the controls need CIFAR-10 and published weights: see `assay show cifar`.
docs: setup
	$(BIN)/python tests/contracts/applicability.py --write
	$(BIN)/assay run gallery --store runs/gallery
	$(BIN)/python docs/make_gallery.py runs/gallery
	$(BIN)/assay run controls --store runs/controls
	$(BIN)/python docs/make_controls.py runs/controls

# README's tables: runs what they quote (half an hour), keeps the results and writes the tables.
readme: setup
	$(BIN)/python docs/make_readme.py --run

# The tables of docs/experiments.md: runs every study it quotes (two hours; Adult needs ASSAY_DATA).
experiments: setup
	$(BIN)/python docs/make_experiments.py --run

# The share of the package's lines that tests run, workers included. PART=tests/unit/stats: by these tests alone.
PART ?= tests
coverage: setup
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n 2 -m "not full" $(PART); status=$$?; \
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report --skip-covered; exit $$status

clean:
	rm -rf $(VENV) build dist runs .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
