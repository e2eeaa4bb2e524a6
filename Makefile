# One virtual environment for everything; each target works from a fresh clone with only python3, venv and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Tests start hundreds of processes: each would compile the sources, and pytest rewrite its modules, anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check format lit unit docs bench single-layer conformance generate clean

help: ## lists the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY) ## compiles ResNet-50 and a classifier of digits, simulates them, compares with onnxruntime
	$(BIN)/xonnc demo

# Pyright takes minutes of one processor: the IR tests, and then the unit tests, have the others.
test: $(READY) ## everything CI runs
	$(MAKE) --jobs=2 check lit unit

check: $(READY) ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: $(READY) ## formats in place and applies automatic fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

unit: $(READY) ## Python tests
	$(BIN)/pytest -n auto --dist worksteal

lit: $(READY) ## IR tests
	$(BIN)/lit -q test/lit

docs: $(READY) ## builds the documentation site; warnings are errors
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --conf-dir docs/site . build/site
	@echo "documentation: build/site/index.html"

bench: $(READY) ## runs the benchmarks of bench/
	$(BIN)/python bench/run.py

single-layer: $(READY) ## simulates single layers on NVDLA, compares with exact integers, prints a table
	$(BIN)/python bench/nvdla_single_layers.py

conformance: $(READY) ## generates models of many exporters, measures them, writes docs/conformance.md
	$(BIN)/python -m bench.conformance

generate: $(READY) ## regenerates operators, their tests and reference pages from schemas and code
	$(BIN)/python -m xonnc.tools.onnx_dialect
	$(BIN)/python -m xonnc.tools.reference

clean: ## removes build products
	rm -rf .venv build dist demo-out
