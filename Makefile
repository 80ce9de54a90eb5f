# The two commands of the README. Both share .venv; a second run installs nothing.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types unit sweep bench clean

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

test: lint types unit

lint: .venv/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.installed-test
	$(BIN)/mypy

unit: .venv/.installed-test
	$(BIN)/pytest -n 2

# The same tests with new examples, and twenty times as many.
sweep: .venv/.installed-test
	EFFORT=20 $(BIN)/pytest -n 2

bench: .venv/.installed-test
	$(BIN)/python benchmarks/motorbike.py

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Cepheid needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python pyproject.toml constraints.txt
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

.venv/.installed-test: .venv/bin/python pyproject.toml constraints.txt
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]'
	@touch .venv/.installed $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .hypothesis
