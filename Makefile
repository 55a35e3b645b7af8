# Two commands matter: `make demo` and `make test`. Each works alone on a machine with Python, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One BLAS thread per test process: the suite runs in parallel already.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test test-all test-browser lint types contracts unit coverage docs bench bench-noise clean

help:
	@echo "make demo      the main job on bundled data, in a minute"
	@echo "make test      lint, types, import contracts, doctests, quick tests"
	@echo "make test-all  the same with the slow tests"
	@echo "make test-browser  the review page in headless Chromium (needs chromium and chromedriver)"
	@echo "make coverage  quick tests with a coverage report"
	@echo "make docs      the documentation, with its gallery, in docs/_build/html"
	@echo "make bench     the benchmarks behind the claims in the documentation"
	@echo "make bench-noise  noisy labels on 16 sets against tuned competitors; an hour without the stored records"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[cli,report]"
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[cli,report]" --group dev
	@touch $@

# On Debian the browser is installed too, which needs the rights to do so.
$(VENV)/browser.stamp: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet --group browser
	command -v chromium chromedriver > /dev/null || { apt-get update -q && apt-get install -qy chromium chromium-driver; }
	@touch $@

$(VENV)/bench.stamp: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet --group bench
	@touch $@

$(VENV)/docs.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[cli,report]" --group docs
	@touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/python examples/demo.py

test: lint types contracts unit

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

contracts: $(VENV)/dev.stamp
	$(BIN)/lint-imports

unit: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/pytest -n auto -m "not slow and not browser"

test-all: lint types contracts
	$(ONE_THREAD) $(BIN)/pytest -n auto -m "not browser"

test-browser: $(VENV)/browser.stamp
	$(ONE_THREAD) $(BIN)/pytest -m browser tests/browser

coverage: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/pytest -n auto -m "not slow and not browser" --cov --cov-report=term --cov-report=xml

docs: $(VENV)/docs.stamp
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

bench-noise: $(VENV)/bench.stamp
	$(ONE_THREAD) $(BIN)/python -m benchmarks.noise build
	$(ONE_THREAD) $(BIN)/python -m benchmarks.noise run --half confirmation
	$(BIN)/python -m benchmarks.noise table --half confirmation

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis docs/_build docs/gallery docs/generated
