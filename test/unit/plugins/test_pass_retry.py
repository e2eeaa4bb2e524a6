"""Passes of plug-ins with options, and their requests for another run."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from xonnc.errors import XonncError
from xonnc.plugin import Plugin, PluginError, RetryError, module_pass
from xonnc.rewriting.remarks import Remark, listening

CONTEXT = Context()


def declared(plugin: Plugin, changes: list[dict[str, Any]], seen: list[tuple[int, bool]]) -> None:
    """A pass that asks for each of some changes in turn, after it has changed the module."""

    @module_pass(plugin, name="fit-for-tests")
    def fit(module: ModuleOp, context: Context, tile: int = 64) -> None:
        seen.append((tile, "tests.tile" in module.attributes))
        module.attributes["tests.tile"] = IntegerAttr(tile, i64)
        if changes:
            raise RetryError("too large", **changes.pop(0))


def run(changes: list[dict[str, Any]], seen: list[tuple[int, bool]], **options: int) -> ModuleOp:
    plugin, module = Plugin("fitting"), ModuleOp([])
    declared(plugin, changes, seen)
    plugin.passes["fit-for-tests"].kind(**options).apply(CONTEXT, module)
    return module


def test_a_pass_succeeds_on_the_third_try():
    seen: list[tuple[int, bool]] = []
    remarks: list[Remark] = []
    with listening(remarks.append):
        module = run([{"tile": 32}, {"tile": 16}], seen)
    assert seen == [(64, False), (32, False), (16, False)]
    assert module.attributes["tests.tile"] == IntegerAttr(16, i64)
    assert [each.text for each in remarks] == [
        "pass fit-for-tests: retry 2/8 with tile=32: too large",
        "pass fit-for-tests: retry 3/8 with tile=16: too large",
    ]


def test_options_are_given():
    seen: list[tuple[int, bool]] = []
    run([], seen, tile=8)
    assert seen == [(8, False)]


def test_requests_without_end():
    seen: list[tuple[int, bool]] = []
    message = "pass fit-for-tests gives up after 8 tries: too large; it asks for tile=1"
    with listening(lambda _: None), pytest.raises(XonncError, match=message):
        run([{"tile": 1}] * 9, seen)
    assert len(seen) == 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tiles": 1}, "pass fit-for-tests asks for a retry with 'tiles'; its parameters are tile"),
        ({}, "pass fit-for-tests asks for a retry with nothing changed; its parameters are tile"),
    ],
)
def test_requests_that_cannot_be_met(changes: dict[str, Any], message: str):
    with pytest.raises(XonncError, match=message):
        run([changes], [])


def test_parameters_without_a_default():
    def bad(module: ModuleOp, context: Context, tile: int) -> None: ...

    with pytest.raises(PluginError, match="'bad': parameter 'tile' needs a default of type int, float, bool"):
        module_pass(Plugin("bads"), name="bad")(bad)
