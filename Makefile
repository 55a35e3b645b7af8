# Two commands matter: `make demo` and `make test`. Each works alone on a machine with Python, pip and make.
PYTHON ?= python3
VENV := .venv
# The folder of programs in an environment; Windows has another name for it.
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PROGRAMS)
# One BLAS thread per test process: the suite runs in parallel already. Stealing work leaves the tests of a file together,
# so that they share what they fitted and the cluster that they started.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

# Other versions, each in an environment of its own. Their interpreters, such as python3.12, have to be on the path.
OLDEST_PYTHON ?= 3.11
NEWEST_PYTHON ?= 3.14
PYTHONS ?= 3.11 3.12 3.13 3.14
JOBS ?= auto

.PHONY: help demo test test-all test-browser test-webkit lint types contracts unit coverage docs bench bench-noise clean
.PHONY: golden test-processors mutants
.PHONY: test-oldest test-newest test-pythons audit vulnerabilities licences dist-check
# Environments take minutes to make, so that they outlive a test that fails.
.PRECIOUS: $(VENV)-%/stamp

help:
	@echo "make demo      the main job on bundled data, in a minute"
	@echo "make test      lint, types, import contracts, doctests, quick tests"
	@echo "make test-all  the same with the slow tests"
	@echo "make lint types contracts  the parts of make test that run no test"
	@echo "make test-browser  the review page in headless Chromium (needs chromium and chromedriver)"
	@echo "make test-webkit   the same in WebKit, the engine of Safari (needs webkit2gtk-driver and xvfb)"
	@echo "make test-oldest   quick tests with the oldest supported numpy, scipy, scikit-learn and extras"
	@echo "make test-newest   quick tests with the newest, pre-releases included"
	@echo "make test-pythons  quick tests with every supported Python, or those in PYTHONS='3.11 3.12'"
	@echo "make audit         vulnerabilities and licences of the dependencies; make licences needs no network service"
	@echo "make dist-check    wheel and sdist: reproducible, complete, working in an empty environment"
	@echo "make golden    store the statistical answers anew, on purpose, and print what changed"
	@echo "make test-processors  the stored answers with other instruction sets of this processor"
	@echo "make mutants   small changes to the statistical core: the share that the tests notice; an hour"
	@echo "make coverage  quick tests with a coverage report"
	@echo "make docs      the documentation, with its gallery, in docs/_build/html"
	@echo "make bench     the benchmarks behind the claims in the documentation"
	@echo "make bench-noise  noisy labels on 14 sets against tuned competitors; half an hour without the stored records"
	@echo "make clean     remove the environments and everything that was built"

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
	$(ONE_THREAD) $(BIN)/pytest -n auto --dist worksteal -m "not slow and not browser"

test-all: lint types contracts
	$(ONE_THREAD) $(BIN)/pytest -n auto --dist worksteal -m "not browser" --hypothesis-profile thorough

test-browser: $(VENV)/browser.stamp
	$(ONE_THREAD) $(BIN)/pytest -m browser tests/browser

# WebKit is the engine of Safari; it needs a display, which xvfb-run makes.
test-webkit: $(VENV)/browser.stamp
	command -v WebKitWebDriver xvfb-run > /dev/null || { apt-get update -q && apt-get install -qy webkit2gtk-driver xvfb; }
	KERNELWISE_BROWSER=webkit $(ONE_THREAD) xvfb-run -a $(BIN)/pytest -m browser tests/browser

# $(call environment,FOLDER,PYTHON,WHAT PIP INSTALLS)
define environment
	@command -v $(2) > /dev/null || { echo "$(2) is not on the path"; exit 1; }
	$(2) -m venv --clear $(1)
	$(1)/$(PROGRAMS)/python -m pip install --quiet --upgrade pip
	$(1)/$(PROGRAMS)/python -m pip install --quiet $(3)
	@touch $@
endef

# $(call quick-tests,FOLDER)
define quick-tests
	$(1)/$(PROGRAMS)/python -c "from kernelwise.environment import versions; print(versions())"
	$(ONE_THREAD) $(1)/$(PROGRAMS)/python -m pytest -n $(JOBS) -m "not slow and not browser"
endef

TESTED := --editable ".[cli,report]" --group test

$(VENV)-oldest/stamp: pyproject.toml tools/oldest.txt
	$(call environment,$(VENV)-oldest,python$(OLDEST_PYTHON),--constraint tools/oldest.txt $(TESTED))

$(VENV)-newest/stamp: pyproject.toml
	$(call environment,$(VENV)-newest,python$(NEWEST_PYTHON),$(TESTED))

$(VENV)-%/stamp: pyproject.toml
	$(call environment,$(VENV)-$*,python$*,$(TESTED))

test-oldest: $(VENV)-oldest/stamp
	$(call quick-tests,$(VENV)-oldest)

# What is newest changes from day to day.
test-newest: $(VENV)-newest/stamp
	$(VENV)-newest/$(PROGRAMS)/python -m pip install --quiet --pre --upgrade numpy scipy scikit-learn
	$(call quick-tests,$(VENV)-newest)

test-python-%: $(VENV)-%/stamp
	$(call quick-tests,$(VENV)-$*)

test-pythons: $(PYTHONS:%=test-python-%)

# The dependencies stand in one environment, the tools that look at them in another.
$(VENV)-deps/stamp: pyproject.toml
	$(call environment,$(VENV)-deps,$(PYTHON),--editable ".[all]")

$(VENV)-tools/stamp: pyproject.toml
	$(call environment,$(VENV)-tools,$(PYTHON),--group supply)

audit: licences vulnerabilities

licences: $(VENV)-deps/stamp
	$(VENV)-deps/$(PROGRAMS)/python tools/check_licences.py

vulnerabilities: $(VENV)-deps/stamp $(VENV)-tools/stamp
	$(VENV)-tools/$(PROGRAMS)/python tools/check_vulnerabilities.py $(VENV)-deps

dist-check: $(VENV)-tools/stamp
	$(VENV)-tools/$(PROGRAMS)/python tools/check_distribution.py

coverage: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/pytest -n auto -m "not slow and not browser" --cov --cov-report=term --cov-report=xml

golden: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/python tests/golden/renew.py

# The same answers, whatever instructions the processor has: NumPy and the linear algebra library choose by them.
test-processors: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/python tests/golden/processors.py

mutants: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/python tools/mutants.py

docs: $(VENV)/docs.stamp
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

bench-noise: $(VENV)/bench.stamp
	$(ONE_THREAD) $(BIN)/python -m benchmarks.noise build
	$(ONE_THREAD) $(BIN)/python -m benchmarks.noise run --half spare
	$(BIN)/python -m benchmarks.noise table --half spare

clean:
	rm -rf $(VENV) $(VENV)-* build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis docs/_build docs/gallery docs/generated
