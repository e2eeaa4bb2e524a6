# One virtual environment for everything; each target works from a fresh clone with only python3, venv and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo test check format lit unit bench conformance generate clean

help: ## lists the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY) ## compiles ResNet-50 for nv_full, simulates it, compares with onnxruntime
	$(BIN)/xonnc demo

test: check unit lit ## everything CI runs

check: $(READY) ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: $(READY) ## formats in place and fixes what can be
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

unit: $(READY) ## Python tests
	$(BIN)/pytest -n auto

lit: $(READY) ## IR tests
	$(BIN)/lit -q test/lit

bench: $(READY) ## the benchmarks of bench/
	$(BIN)/python bench/run.py

conformance: $(READY) ## makes models of the field, measures them and writes docs/conformance.md
	$(BIN)/python -m bench.conformance

generate: $(READY) ## rewrites what is written from schemas and code: ops, their tests, reference pages
	$(BIN)/python -m xonnc.tools.onnx_dialect
	$(BIN)/python -m xonnc.tools.reference

clean: ## removes what the targets made
	rm -rf .venv build dist demo-out
