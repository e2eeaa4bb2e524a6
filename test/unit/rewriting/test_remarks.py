"""Warnings and remarks of passes: who hears of them."""

from __future__ import annotations

import logging

import pytest
from xdsl.dialects.builtin import ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.dialects.func import FuncOp

from xonnc.dialects.onnx.ops.builtin import NoValueOp
from xonnc.rewriting.remarks import Remark, XonncWarning, listening, remark, warn


def named(name: str) -> ModuleOp:
    module = ModuleOp([])
    module.location = NameLoc(StringAttr(name), NoneAttr())
    return module


def test_a_listener_receives_every_diagnostic(caplog: pytest.LogCaptureFixture):
    heard: list[Remark] = []
    module = named("model")
    with listening(heard.append), caplog.at_level(logging.INFO, "xonnc"):
        warn("it is slow", module)
        remark("it is small")
    assert heard == [Remark("warning", "it is slow", module), Remark("remark", "it is small")]
    assert [str(each) for each in heard] == ["model: it is slow", "it is small"]
    assert not caplog.records


def test_without_listener_a_warning_is_python_s_and_a_remark_is_logged(caplog: pytest.LogCaptureFixture):
    with pytest.warns(XonncWarning, match="^model: it is slow$"):
        warn("it is slow", named("model"))
    with caplog.at_level(logging.INFO, "xonnc"):
        remark("it is small")
    assert [record.getMessage() for record in caplog.records] == ["it is small"]


def test_functions_are_called_by_their_symbol_and_a_module_by_nothing():
    assert str(Remark("warning", "slow", FuncOp("main", ((), ())))) == "@main: slow"
    assert str(Remark("warning", "slow", ModuleOp([]))) == "slow"
    assert str(Remark("warning", "slow", NoValueOp())) == "onnx.NoValue: slow"


def test_listening_ends_with_the_block():
    heard: list[Remark] = []
    with listening(heard.append):
        pass
    with pytest.warns(XonncWarning):
        warn("late")
    assert not heard
