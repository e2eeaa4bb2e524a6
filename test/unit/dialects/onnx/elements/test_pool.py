"""The pool counts bytes, and collecting frees what is dead and nothing else."""

from __future__ import annotations

import gc
from collections.abc import Generator

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    TensorType,
    i32,
)
from xdsl.dialects.test import Test
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.dialects.test import TestPureOp as PureOp
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

from xonnc.dialects.onnx.builtin_attributes import StringElementsAttr
from xonnc.dialects.onnx.elements import (
    DisposableElementsAttr,
    DisposablePool,
    DisposedElementsError,
    constants_in,
    constants_of,
    drop_attributes,
    dropping_listener,
    elements_array,
)
from xonnc.dialects.onnx.elements.pool import Collection

MEGABYTE = 1 << 20


def onnx() -> Dialect:
    return Dialect("onnx", [], [DisposableElementsAttr], [DisposablePool()])


@pytest.fixture
def ctx() -> Context:
    ctx = Context()
    ctx.register_dialect("onnx", onnx)
    ctx.load_dialect(Test)
    return ctx


@pytest.fixture
def no_automatic_collection() -> Generator[None, None, None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def large(pool: DisposablePool, value: int, size: int = MEGABYTE) -> DisposableElementsAttr:
    attr = pool.create(np.arange(value, value + size // 4, dtype=np.int32))
    assert isinstance(attr, DisposableElementsAttr)
    return attr


def erase_all(module: ModuleOp) -> None:
    for op in [*module.ops]:
        op.detach()
        op.erase()


def holder(attr: Attribute) -> AnyOp:
    return AnyOp(result_types=[i32], properties={"value": attr})


def chain(length: int, first: Attribute) -> ModuleOp:
    """An op that holds `first`, and `length` ops each reading the one before."""
    ops = [holder(first)]
    for _ in range(length):
        ops.append(AnyOp(operands=ops[-1].results, result_types=[i32]))
    return ModuleOp([*ops])


class AddOne(RewritePattern):
    """Replaces an op that reads a constant by the constant plus one."""

    def __init__(self, pool: DisposablePool):
        self.pool = pool

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AnyOp, rewriter: PatternRewriter):
        owner = op.operands[0].owner if op.operands else None
        if isinstance(owner, AnyOp) and (value := owner.properties.get("value")):
            array = elements_array(value)
            assert array is not None
            rewriter.replace(op, holder(self.pool.create(array + 1)))
            if not any(result.uses for result in owner.results):
                rewriter.erase(owner)


def test_one_pool_per_context():
    first, second = Context(), Context()
    for each in (first, second):
        each.register_dialect("onnx", onnx)
    assert DisposablePool.of(first) is DisposablePool.of(first)
    assert DisposablePool.of(first) is not DisposablePool.of(second)
    assert DisposablePool.of(first.clone()) is DisposablePool.of(first)
    with pytest.raises(ValueError, match="no onnx dialect"):
        DisposablePool.of(Context())


def test_constants_are_equal_only_to_themselves(ctx: Context):
    pool = DisposablePool.of(ctx)
    array = np.arange(4)
    one, other = pool.create(array), pool.create(array)
    assert one == one
    assert one != other
    assert len({one, other}) == 2
    assert isinstance(one, DisposableElementsAttr)
    assert isinstance(other, DisposableElementsAttr)
    assert other.number > one.number


def test_cse_merges_only_the_same_constant(ctx: Context):
    pool = DisposablePool.of(ctx)
    array = np.arange(4)
    shared = pool.create(array)
    constants = [shared, shared, pool.create(array)]
    ops = [PureOp(result_types=[i32], properties={"value": attr}) for attr in constants]
    reader = AnyOp(operands=[op.results[0] for op in ops])
    module = ModuleOp([*ops, reader])
    CommonSubexpressionElimination().apply(ctx, module)
    assert reader.operands[0] is reader.operands[1]
    assert reader.operands[0] is not reader.operands[2]


def test_shared_buffers_count_once(ctx: Context):
    pool = DisposablePool.of(ctx)
    array = np.zeros(MEGABYTE, np.uint8)
    attrs = [pool.create(array), pool.create(array[::2]), pool.create(array.reshape(1024, 1024).T)]
    assert pool.live_bytes == MEGABYTE
    attrs.pop()
    attrs.pop(0)
    assert pool.live_bytes == MEGABYTE
    attrs.clear()
    figures = pool.statistics()
    assert (figures.live_bytes, figures.peak_bytes, figures.freed_bytes) == (0, MEGABYTE, MEGABYTE)
    assert (figures.created, figures.alive, figures.disposed) == (3, 0, 3)
    pool.reset_peak()
    assert pool.peak_bytes == 0


def test_a_disposed_constant_says_so(ctx: Context):
    pool = DisposablePool.of(ctx)
    attr = large(pool, 0)
    pool.dispose(attr)
    assert attr.is_disposed
    assert pool.live_bytes == 0
    for use in (attr.array, lambda: attr.shape, lambda: str(attr), lambda: elements_array(attr)):
        with pytest.raises(
            DisposedElementsError, match=f"constant {attr.number} .*disposed of and used again"
        ):
            use()


def test_roots_are_found_however_deep(ctx: Context):
    pool = DisposablePool.of(ctx)
    attrs = [large(pool, value, 64) for value in range(4)]
    nested = ArrayAttr([i32, DictionaryAttr({"a": attrs[1], "b": ArrayAttr([attrs[2]])})])
    inner = AnyOp(attributes={"x": attrs[3]})
    outer = AnyOp(properties={"p": attrs[0]}, attributes={"n": nested})
    module = ModuleOp([outer, inner])
    assert {attr.number for attr in constants_of([module])} == {attr.number for attr in attrs}
    assert list(constants_in(nested)) == attrs[1:3]
    assert list(constants_in(i32)) == []


def test_collect_frees_what_erased_ops_hold(ctx: Context, no_automatic_collection: None):
    pool = DisposablePool.of(ctx)
    kept, lost = holder(large(pool, 0)), holder(large(pool, 1))
    module = ModuleOp([kept, lost])
    lost.detach()
    lost.erase()
    del lost
    assert pool.live_bytes == 2 * MEGABYTE
    found = pool.collect([module])
    assert (found.reachable, found.freed, found.held_elsewhere) == (1, 1, 0)
    assert pool.live_bytes == MEGABYTE


def test_collecting_never_frees_what_a_clone_holds(ctx: Context, no_automatic_collection: None):
    pool = DisposablePool.of(ctx)
    module = ModuleOp([holder(large(pool, 0))])
    clone = module.clone()
    erase_all(module)
    found = pool.collect([module])
    assert (found.reachable, found.freed, found.held_elsewhere) == (0, 0, 1)
    (constant,) = constants_of([clone])
    assert constant.array()[5] == 5
    del clone, constant
    found = pool.collect([module])
    assert (found.reachable, found.freed, found.held_elsewhere) == (0, 1, 0)
    assert pool.live_bytes == 0


def test_passes_do_not_scan_again_for_constants_that_are_held(ctx: Context, no_automatic_collection: None):
    pool = DisposablePool.of(ctx)
    module = ModuleOp([holder(large(pool, 0))])
    clone = module.clone()
    erase_all(module)
    scans: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            scans.append(1)

    gc.callbacks.append(count)
    try:
        assert pool.collect([module], rescan=False).held_elsewhere == 1
        assert len(scans) == 1
        assert pool.collect([module], rescan=False) == Collection(reachable=0, freed=0, held_elsewhere=1)
        assert len(scans) == 1
        # A constant that is lost since is looked for, on all objects since it lies in an old generation.
        module.body.block.add_op(holder(large(pool, 1)))
        gc.collect()
        erase_all(module)
        scans.clear()
        assert pool.collect([module], rescan=False) == Collection(reachable=0, freed=1, held_elsewhere=1)
        assert len(scans) == 1
        assert pool.collect([module]).held_elsewhere == 1
        assert len(scans) == 2
    finally:
        gc.callbacks.remove(count)
    del clone
    assert pool.collect([module]).freed == 1


def test_collecting_never_frees_what_a_variable_holds(ctx: Context):
    pool = DisposablePool.of(ctx)
    constant = large(pool, 7)
    assert pool.collect([ModuleOp([])]).held_elsewhere == 1
    assert constant.array()[0] == 7


def test_a_pass_on_a_clone_leaves_the_original_alone(ctx: Context):
    class Fold(ModulePass):
        name = "fold"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            pattern = AddOne(DisposablePool.of(ctx))
            PatternRewriteWalker(pattern, listener=dropping_listener()).rewrite_module(op)
            DisposablePool.of(ctx).collect([op])

    pool = DisposablePool.of(ctx)
    module = chain(3, large(pool, 10))
    _, folded = Fold().apply_to_clone(ctx, module)
    results: list[int] = []
    for each in (module, folded):
        (constant,) = constants_of([each])
        results.append(int(constant.array()[0]))
    assert results == [10, 13]


def test_dropping_takes_nested_constants_and_lends_nothing_back(ctx: Context):
    pool = DisposablePool.of(ctx)
    inner = holder(large(pool, 0))
    module = ModuleOp([inner], attributes={"extra": large(pool, 1)})
    lent = module.attributes
    drop_attributes(module)
    assert (inner.properties, module.attributes) == ({}, {})
    assert list(lent) == ["extra"]
    assert pool.live_bytes == MEGABYTE


@pytest.mark.usefixtures("no_automatic_collection")
def test_a_chain_of_folds_keeps_less_than_three_buffers():
    # A foreign host: no collection between passes, only the driver's removal handler runs.
    pool = DisposablePool()
    module = chain(40, large(pool, 0))
    PatternRewriteWalker(AddOne(pool), listener=dropping_listener()).rewrite_module(module)
    (result,) = constants_of([module])
    assert result.array()[0] == 40
    assert pool.statistics().created == 41
    assert pool.peak_bytes < 3 * MEGABYTE
    assert pool.live_bytes == MEGABYTE


@pytest.mark.usefixtures("no_automatic_collection")
def test_a_chain_of_pending_folds_keeps_less_than_three_buffers():
    pool = DisposablePool()
    value: Attribute = large(pool, 0)
    ops: list[Operation] = [holder(value)]
    for _ in range(40):
        value = pool.combine(np.add, value, pool.create(np.array(1, np.int32)))
        ops.append(holder(value))
        drop_attributes(ops[-2])
    array = elements_array(value)
    assert array is not None
    assert array[0] == 40
    assert pool.peak_bytes < 3 * MEGABYTE


@pytest.mark.usefixtures("no_automatic_collection")
def test_waiting_work_does_not_keep_many_operands():
    pool = DisposablePool()
    value: Attribute = large(pool, 0)
    for start in range(1, 40):
        value = pool.combine(np.add, value, large(pool, start))
    assert isinstance(value, DisposableElementsAttr)
    assert pool.live_bytes == MEGABYTE
    assert value.array()[0] == sum(range(40))
    mapped = pool.combine(np.add, value, pool.create(np.array(1, np.int32)))
    assert isinstance(mapped, DisposableElementsAttr)
    assert mapped.payload.is_pending


@pytest.mark.usefixtures("no_automatic_collection")
def test_without_the_handler_collecting_frees_the_rest():
    pool = DisposablePool()
    module = chain(40, large(pool, 0))
    PatternRewriteWalker(AddOne(pool)).rewrite_module(module)
    assert pool.live_bytes > 3 * MEGABYTE
    assert pool.collect([module]).reachable == 1
    assert pool.live_bytes == MEGABYTE


@pytest.mark.usefixtures("no_automatic_collection")
def test_forty_constants_folded_into_one_leave_one():
    pool = DisposablePool()
    ops = [holder(large(pool, value)) for value in range(40)]
    module = ModuleOp([*ops])
    total = sum(attr.array() for attr in constants_of([module]))
    assert isinstance(total, np.ndarray)
    module.body.block.add_op(holder(pool.create(total)))
    for op in ops:
        op.detach()
        drop_attributes(op)
        op.erase()
    assert pool.live_bytes == MEGABYTE


def test_a_closed_pool_makes_dense_attributes(ctx: Context):
    pool = DisposablePool.of(ctx)
    before = large(pool, 0, 64)
    pool.close()
    assert not pool.is_open
    after = pool.create(np.array([1, 2], np.int16))
    assert isinstance(after, DenseIntOrFPElementsAttr)
    assert str(after) == "dense<[1, 2]> : tensor<2xi16>"
    folded = pool.combine(np.add, before, before)
    assert isinstance(folded, DenseIntOrFPElementsAttr)
    assert folded.get_values() == tuple(range(0, 32, 2))
    assert isinstance(pool.create(np.array(["a"], object)), StringElementsAttr)


def test_adopting_shares_the_bytes_of_a_dense_attribute(ctx: Context):
    pool = DisposablePool.of(ctx)
    dense = DenseIntOrFPElementsAttr.from_list(TensorType(i32, [4]), [4, 3, 2, 1])
    adopted = pool.adopt(dense)
    assert adopted is not None
    assert np.shares_memory(adopted.array(), np.frombuffer(dense.data.data, np.int32))
    assert pool.adopt(adopted) is adopted
    assert pool.adopt(i32) is None


def test_collecting_keeps_all_that_is_reachable():
    pool = DisposablePool()
    module = ModuleOp([holder(large(pool, value, 64)) for value in range(10_000)])
    found = pool.collect([module])
    assert found.reachable == 10_000
