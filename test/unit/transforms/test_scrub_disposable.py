"""scrub-disposable leaves plain dense attributes."""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Dialect
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.builtin_attributes import StringElementsAttr
from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool, constants_of
from xonnc.transforms.scrub_disposable import ScrubDisposable


def context() -> Context:
    ctx = Context()
    ctx.register_dialect("onnx", lambda: Dialect("onnx", [], [DisposableElementsAttr], [DisposablePool()]))
    return ctx


def test_constants_become_dense_each_once():
    ctx = context()
    pool = DisposablePool.of(ctx)
    shared = pool.create(np.arange(4, dtype=np.float32))
    splat = pool.create(np.broadcast_to(np.float32(2), (3,)))
    nested = ArrayAttr([DictionaryAttr({"deep": shared}), splat])
    first, second = AnyOp(properties={"value": shared}), AnyOp(attributes={"list": nested})
    module = ModuleOp([first, second])
    del shared, splat, nested
    before = str(module)
    ScrubDisposable().apply(ctx, module)
    assert str(module) == before
    assert list(constants_of([module])) == []
    dense = first.properties["value"]
    assert isinstance(dense, DenseIntOrFPElementsAttr)
    array = second.attributes["list"]
    assert isa(array, ArrayAttr)
    table = array.data[0]
    assert isinstance(table, DictionaryAttr)
    assert table.data["deep"] is dense
    assert not pool.is_open
    assert pool.statistics().alive == 0
    assert pool.live_bytes == 0


def test_constants_are_freed_one_by_one():
    ctx = context()
    pool = DisposablePool.of(ctx)
    module = ModuleOp([AnyOp(properties={"value": pool.create(np.arange(i, i + 1000))}) for i in range(10)])
    pool.reset_peak()
    ScrubDisposable().apply(ctx, module)
    assert pool.peak_bytes == 80_000
    assert pool.live_bytes == 0


def test_a_clone_keeps_its_constants():
    ctx = context()
    pool = DisposablePool.of(ctx)
    module = ModuleOp([AnyOp(properties={"value": pool.create(np.arange(3))})])
    clone = module.clone()
    ScrubDisposable().apply(ctx, module)
    (constant,) = constants_of([clone])
    assert constant.array().tolist() == [0, 1, 2]


def test_strings_become_plain_too():
    ctx = context()
    pool = DisposablePool.of(ctx)
    op = AnyOp(properties={"value": pool.create(np.array(["a"], object))})
    ScrubDisposable().apply(ctx, ModuleOp([op]))
    assert isinstance(op.properties["value"], StringElementsAttr)
    assert str(op.properties["value"]) == 'dense<"a"> : tensor<1x!onnx.String>'
