"""The table of passes and dialects."""

from __future__ import annotations

import subprocess
import sys

import pytest
from xdsl.dialects import builtin

from xonnc.contexts import new_context
from xonnc.passes import BUNDLED, DIALECTS, PASSES, dialect_factories, pass_class, run_pass


@pytest.mark.parametrize("name", sorted(PASSES))
def test_names_are_those_of_the_classes(name: str):
    assert pass_class(name).name == name


def test_names_are_those_of_the_dialects():
    factories = dialect_factories()
    assert factories.keys() >= {*DIALECTS, *BUNDLED}
    assert all(make().name == name for name, make in factories.items())


def test_a_pass_runs_by_its_name():
    context = new_context()
    module = builtin.ModuleOp([])
    run_pass("write-op-stats-to-module-attribute", context, module)
    assert module.attributes


def test_no_pass_is_imported_before_it_is_used():
    code = (
        "import sys, xonnc.tools.universe; print([name for name in sys.modules if name.startswith('xonnc.')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ["tools", "rewriting", "rewriting.extensions", "passes", "tools.universe"]
    assert run.stdout.strip() == str([f"xonnc.{name}" for name in loaded])
