"""Constant propagation: memory, laziness, options, and folds that the reference cannot judge."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import ml_dtypes
import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc import simplify
from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, element_type_of, unranked
from xonnc.rewriting.attribute_conversion import encode
from xonnc.rewriting.onnx import op_class
from xonnc.rewriting.patterns import Array, Literal
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.numerics import cast

MB16 = 16 * 1024 * 1024


class Function:
    """A function built op by op."""

    def __init__(self) -> None:
        self.context = Context()
        for dialect in (Builtin, Func, get_onnx()):
            self.context.load_dialect(dialect)
        self.pool = DisposablePool.of(self.context)
        self.function = FuncOp("main_graph", ([], []))
        self.module = ModuleOp([self.function])

    def constant(self, array: Array) -> SSAValue:
        attribute = self.pool.create(array)
        return self.add(ConstantOp.create(result_types=[attribute.type], properties={"value": attribute}))

    def absent(self) -> SSAValue:
        return self.add(NoValueOp())

    def add(self, op: Operation) -> SSAValue:
        self.function.body.block.add_op(op)
        return op.results[0]

    def op(self, name: str, *operands: SSAValue, **properties: Literal | Attribute) -> SSAValue:
        kind = op_class(name)
        element = element_type(operands[0].type)
        assert kind is not None
        assert element is not None
        given = {name: encode(expected) for name, expected in properties.items()}
        return self.add(kind.create(operands=operands, result_types=[unranked(element)], properties=given))

    def folded(self, *results: SSAValue, options: ConstProp | None = None) -> list[Attribute | None]:
        """The constants that the results are after the pass, `None` where they are none."""
        self.add_end(results)
        (options or ConstProp()).apply(self.context, self.module)
        end = self.function.body.block.last_op
        assert end is not None
        owners = [operand.owner for operand in end.operands]
        return [owner.value if isinstance(owner, ConstantOp) else None for owner in owners]

    def add_end(self, results: Sequence[SSAValue]) -> None:
        self.function.body.block.add_op(ReturnOp.create(operands=list(results)))


def array_of(attribute: Attribute | None) -> Array:
    assert attribute is not None
    array = elements_array(attribute)
    assert array is not None
    return array


def test_a_chain_of_large_folds_keeps_two_buffers() -> None:
    graph = Function()
    value = graph.constant(np.arange(4 * 1024 * 1024, dtype=np.float32).reshape(2048, 2048))
    one = graph.constant(np.ones((2048, 1), np.float32))
    for step in range(40):
        value = graph.op("Sub", one, value) if step % 2 else graph.op("Concat", value, axis=0)
        if step % 8 == 0:
            value = graph.op("Concat", graph.op("Transpose", value, perm=[1, 0]), axis=0)
    graph.pool.reset_peak()
    (result,) = graph.folded(value)
    array_of(result)
    statistics = graph.pool.statistics()
    assert statistics.peak_bytes < 3 * MB16
    assert statistics.live_bytes < 1.1 * MB16


def test_many_large_constants_become_one() -> None:
    graph = Function()
    parts = [graph.constant(np.full((512, 512), part, np.float32)) for part in range(10)]
    total = parts[0]
    for part in parts[1:]:
        total = graph.op("Add", total, part)
    (result,) = graph.folded(total)
    assert graph.pool.statistics().alive == 1
    assert array_of(result)[0, 0] == sum(range(10))


def test_views_share_the_buffer() -> None:
    graph = Function()
    value = graph.constant(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    for name, operands, properties in (
        ("Transpose", (), {"perm": [2, 0, 1]}),
        ("Unsqueeze", (graph.constant(np.array([0], np.int64)),), {}),
        ("Expand", (graph.constant(np.array([5, 4, 2, 3], np.int64)),), {}),
    ):
        value = graph.op(name, value, *operands, **properties)
    live = graph.pool.live_bytes
    (result,) = graph.folded(value)
    assert array_of(result).shape == (5, 4, 2, 3)
    assert graph.pool.live_bytes <= live


def test_an_expanded_scalar_costs_nothing_until_it_is_read() -> None:
    graph = Function()
    shape = graph.constant(np.array([4096, 4096], np.int64))
    zero = graph.constant(np.zeros((), np.float32))
    results = graph.folded(graph.op("ConstantOfShape", shape), graph.op("Expand", zero, shape))
    assert all(result is not None for result in results)
    assert graph.pool.peak_bytes < 1_000_000


def test_pads_may_be_negative() -> None:
    graph = Function()
    data = graph.constant(np.arange(6).reshape(2, 3))
    pads = graph.constant(np.array([-1, 1, 1, -2], np.int64))
    none = graph.absent()
    (result,) = graph.folded(graph.op("Pad", data, pads, none, none, mode="constant"))
    assert array_of(result).tolist() == [[0, 3], [0, 0]]


def test_zero_points_of_rows() -> None:
    graph = Function()
    left, right = (
        graph.constant(np.array([[1, 2], [3, 4]], np.uint8)),
        graph.constant(np.eye(2, dtype=np.uint8)),
    )
    zero = graph.constant(np.array([1, 3], np.uint8))
    (result,) = graph.folded(graph.op("MatMulInteger", left, right, zero, graph.absent()))
    assert array_of(result).tolist() == [[0, 1], [0, 1]]


def test_the_extremum_of_nothing() -> None:
    graph = Function()
    empty = graph.constant(np.zeros((0, 2), np.int8))
    axes = graph.constant(np.array([0], np.int64))
    names = ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd")
    results = graph.folded(*(graph.op(name, empty, axes, keepdims=0) for name in names))
    assert [array_of(result).tolist() for result in results] == [[-128] * 2, [127] * 2, [0] * 2, [1] * 2]


@pytest.mark.parametrize(("nearest", "expected"), [(False, [-1, 2, 3]), (True, [-2, 2, 4])])
def test_casts_truncate_or_round_to_even(nearest: bool, expected: list[int]) -> None:
    graph = Function()
    value = graph.constant(np.array([-1.5, 2.5, 3.5], np.float32))
    cast = graph.op("Cast", value, to=element_type_of(np.dtype(np.int32)))
    (result,) = graph.folded(cast, options=ConstProp(round_fp_to_int=nearest))
    assert array_of(result).tolist() == expected


def test_casts_to_integers_saturate() -> None:
    graph = Function()
    value = graph.constant(np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 2147483520.0], np.float32))
    (result,) = graph.folded(graph.op("Cast", value, to=element_type_of(np.dtype(np.int32))))
    assert array_of(result).tolist() == [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 2147483520]


@pytest.mark.parametrize(("bound", "folds"), [(-1, True), (2, True), (1, False), (0, False)])
def test_the_expansion_bound_keeps_what_grows(bound: int, folds: bool) -> None:
    graph = Function()
    row, column = graph.constant(np.ones((1, 4), np.float32)), graph.constant(np.ones((4, 1), np.float32))
    total = graph.op("Add", row, column)
    type_ = graph.pool.create(np.zeros((4, 4), np.float32)).type
    assert isinstance(total.owner, Operation)
    kind = type(total.owner)
    grown = graph.add(kind.create(operands=[row, column], result_types=[type_]))
    (result,) = graph.folded(grown, options=ConstProp(expansion_bound=bound))
    assert (result is not None) == folds


def test_disabled_the_pass_only_tidies_up() -> None:
    graph = Function()
    value = graph.constant(np.ones(3, np.float32))
    graph.op("Neg", value)
    assert graph.folded(graph.op("Neg", value), options=ConstProp(disable=True)) == [None]
    assert sum(op.name == "onnx.Neg" for op in graph.module.walk()) == 1


def test_a_body_may_read_constants_from_outside():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[2] z) => (float[3, 2] y, float[2] f, float[2] k)
        <float[2] init = {0, 1}, float[3, 2] xs = {1, 2, 3, 4, 5, 6}, float[2] w = {2, 3}> {
          f, y = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] x) => (float[2] t, float[2] u) {
            m = Mul(x, w) t = Add(s, m) u = Mul(t, w)
          }>(init, xs)
          k = Neg(z)
        }""")
    graph = simplify(model).proto().graph
    assert [node.op_type for node in graph.node] == ["Neg"]
    found = {each.name: onnx.numpy_helper.to_array(each).tolist() for each in graph.initializer}
    assert found == {"f": [18, 37], "y": [[4, 21], [16, 57], [36, 111]]}


def test_integers_below_a_byte_wrap_in_each_other():
    types = {np.dtype(each): ml_dtypes.iinfo(each) for each in ("int2", "uint2", "int4", "uint4")}
    for source, to in product(types, types):
        x = np.arange(types[source].min, types[source].max + 1)
        found = cast(to, saturate=True, nearest=False)(x.astype(source))
        assert found.dtype == to
        assert not np.any((found.astype(np.int64) - x) % 2 ** types[to].bits)
