# Weft. `make` lists the targets; `make setup` is called by all the others and costs nothing the second time.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
JAVA   := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)

# Tests that start no JVM and take no time.
QUICK  := not spark and not data and not crash and not slow and not bench and not long

# Classes of Spark as the JVM maps them: the tests start some fifty JVMs, each twice as fast with it (tests/jvm.py).
CLASSES := $(VENV)/spark-classes.jsa

.DEFAULT_GOAL := help
.PHONY: help setup java demo test pytest test-long kafka jars warm s3 check lint format types imports docs bench torture papers clean oldest release-check

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Create .venv with Weft and its tools in it

$(READY): pyproject.toml weft_lab/pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 10) and "Weft needs Python 3.10 or newer; %s is %d.%d. Try: make setup PYTHON=/path/to/python3.11" % (sys.executable, *v[:2]))' \
		|| { command -v $(PYTHON) >/dev/null || echo "There is no '$(PYTHON)'. Try: make setup PYTHON=/path/to/python3.11"; exit 1; }
	@$(MAKE) --no-print-directory java
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
		|| { echo "No virtual environment could be made. On Debian or Ubuntu: apt install python3-venv"; rm -rf $(VENV); exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,lab]' -e ./weft_lab
	@touch $@

java:
	@version=$$($(JAVA) -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1); \
	if [ -z "$$version" ]; then \
		echo "Weft needs Java 17 or newer, and '$(JAVA)' does not run."; \
		echo "Install one (Debian: apt install openjdk-17-jre-headless) or set JAVA_HOME."; exit 1; \
	elif [ "$$version" -lt 17 ]; then \
		echo "Weft needs Java 17 or newer; '$(JAVA)' is Java $$version. Set JAVA_HOME to a newer one."; exit 1; \
	fi

demo: setup ## Two live sensor streams, one inequality join, on local Spark, for about a minute
	$(BIN)/weft demo

# Their processes import Weft a few hundred times: let them find it compiled, whatever the environment says.
test pytest test-long check: export PYTHONDONTWRITEBYTECODE :=

test: java ## Everything: lint, types, imports, unit, property, Spark, data, crash, docs
	@$(MAKE) --no-print-directory -j 2 setup s3
	@$(MAKE) --no-print-directory -j 2 types pytest

pytest: $(CLASSES) warm jars lint imports
	HYPOTHESIS_PROFILE=ci $(BIN)/pytest -n 2 --dist worksteal -m "not bench and not long"

test-long: setup java $(CLASSES) ## The long variants of some tests: more kills, more pairs, every kernel compiled anew
	HYPOTHESIS_PROFILE=ci $(BIN)/pytest -n 2 --dist worksteal -m "long"

kafka: setup java $(CLASSES) ## The tests that talk to a Kafka broker; they are part of `make test` where its jars can be had
	$(BIN)/python -m tests.kafka.jars
	$(BIN)/pytest -m "kafka and not long"

jars: setup # Fetched once into the user's cache; without them, tests that need them are skipped
	@$(BIN)/python -m tests.kafka.jars >/dev/null || true

warm: setup # Kernels that are not compiled yet are compiled once, and not by each process that needs them
	@$(BIN)/python -c 'import sys; from weft.cli.warm import compiled; sys.exit(not compiled().all)' || $(BIN)/weft warm 2>/dev/null

s3: # The S3 server of the tests; Go builds it while pip waits for the network
	@$(PYTHON) tests/s3_program.py >/dev/null

$(CLASSES): | $(READY)
	@$(BIN)/python -m tests.jvm >/dev/null 2>&1 || echo "There is no archive of Spark's classes: JVMs start more slowly."

check: setup lint types imports ## What needs no Spark: lint, format, types, imports, unit and property tests
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest -q -n 2 --ignore tests/lab --ignore tests/docs -m "$(QUICK) and not simulation"

lint: setup ## ruff: rules and format
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet . \
		|| { $(BIN)/ruff format --diff --quiet .; echo "Not formatted. Try: make format"; exit 1; }

format: setup ## Let ruff format and fix what it can
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

types: setup ## mypy, strict
	$(BIN)/mypy

imports: setup ## The import rules
	@$(BIN)/lint-imports --no-logo

docs: setup ## The site, into build/site: no broken link, no page without a place, nothing fetched from elsewhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html; to look at it: $(BIN)/python -m http.server -b 127.0.0.1 -d build/site"

OLDEST := .venv-oldest
oldest: java ## Quick tests, and two joins on Spark, with the oldest supported versions of all dependencies
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct -e .
	$(OLDEST)/bin/uv pip freeze --quiet --python $(OLDEST)/bin/python --exclude-editable > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python -c $(OLDEST)/oldest.txt -e '.[test]' -e ./weft_lab
	@cat $(OLDEST)/oldest.txt
	HYPOTHESIS_PROFILE=quick $(OLDEST)/bin/python -m pytest -q -n 2 --ignore tests/lab --ignore tests/docs -m "$(QUICK) and not simulation" tests
	$(OLDEST)/bin/python -m pytest -q tests/docs/test_examples.py

release-check: setup ## Wheels and archives of both projects: their metadata, and that a bare environment runs a join with them
	rm -rf dist build/bare
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=6.1'
	$(BIN)/python -m build --outdir dist . >/dev/null
	$(BIN)/python -m build --outdir dist weft_lab >/dev/null
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/bare
	build/bare/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build && bare/bin/weft --version && bare/bin/weft-lab --help >/dev/null
	cd build && bare/bin/python -c 'import pathlib, pyarrow as pa, weft; t = pa.table({"x": [1, 2, 3]}); \
		assert weft.local.join(t, t, on="l.x < r.x").num_rows == 3; assert (pathlib.Path(weft.__file__).parent / "py.typed").exists()'

bench: setup java ## The benchmarks, each beside its peers (nothing else should be running)
	$(BIN)/weft-lab bench kernel
	$(BIN)/weft-lab bench spark
	$(BIN)/weft-lab bench kinds
	$(BIN)/weft-lab bench skew
	$(BIN)/weft-lab bench drift
	$(BIN)/weft-lab bench sta
	$(BIN)/weft-lab bench documents
	$(BIN)/weft-lab bench inequality
	$(BIN)/weft-lab bench bands
	$(BIN)/weft-lab bench asof

torture: setup java ## Kill joins for a quarter of an hour: 5 minutes each on the local runtime, of workers, of drivers
	$(BIN)/weft-lab torture local --minutes 5
	$(BIN)/weft-lab torture workers --minutes 5
	$(BIN)/weft-lab torture drivers --minutes 5

papers: setup ## Which items of the papers have a test or benchmark, and which have not
	@$(BIN)/python -m tests.papers.report

clean: ## Remove .venv, caches and what demo and benchmarks wrote
	rm -rf $(VENV) $(OLDEST) build dist weft_lab/build weft_lab/dist demo-out bench-out weft-papers spark-warehouse metastore_db derby.log
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find weft weft_lab tests website -name __pycache__ -type d -prune -exec rm -rf {} +
