"""
What the dimension analysis says, against what the ONNX reference computes.

Each model is run on several sizes with all its values as outputs: dimensions of one group must be equal, and
known offsets must be those seen. Every rule must be at work in some model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import combinations
from typing import Protocol

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import OpResult, SSAValue
from xdsl.parser import Parser

from xonnc.contexts import new_context
from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.locations import output_names
from xonnc.dialects.onnx.types import is_ranked
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.onnx_shape_inference import infer_results
from xonnc.rewriting.patterns import Array
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.dims.dim_context import ELEMENTS, SIZES
from xonnc.transforms.dims.functions import dim_names
from xonnc.transforms.onnx_package_hooks import use_inference
from xonnc.transforms.shape_inference_onnx import infer_shapes
from xonnc.transforms.shapes.inference_context import SHAPE_FUNCTIONS, SYMBOLIC, ShapeError

use_inference(infer_results)


class Evaluator(Protocol):
    """The reference, which has no types."""

    def run(self, output_names: Sequence[str], feed_inputs: Mapping[str, Array]) -> Sequence[Array]: ...


MODELS = {
    "elementwise": """(float[N, S] x, float[N, S] y, float[S] z) => (float[A, B] r) {
        a = Relu(x)  b = Add(a, z)  c = Mul(z, a)  d = Add(x, y)  e = Greater(b, c)  f = Where(e, b, d)
        g = Cast<to = 11>(f)  h = CastLike(g, x)  r = Softmax(h)  k, m = Dropout(r) }""",
    "attention": """(float[N, H, S, 4] q, float[N, H, T, 4] k, float[N, H, T, 6] v, float[N, S, 2] c) =>
        (float[A, B, C, 6] y, float[D, E, F, 4] r) {
        y = Attention(q, k, v)  r = RotaryEmbedding(q, c, c) }""",
    "normalized": """(float[N, S, 4] x, float[4] s) => (float[A, B, 4] y) {
        n = RMSNormalization<axis = -1>(x, s)  y, mean, deviation = LayerNormalization<axis = -1>(n, s) }""",
    "channels": """(float[N, C, 4] x, float[P] s) => (float[A, B, 4] y) {
        y = InstanceNormalization(x, s, s) }""",
    "tests": """(float[N, M] x, float[M] s, uint8[N, K] a, uint8[K, M] b) =>
        (bool[A, B] y, float[C, D] z, int32[E, F] p) {
        e = EyeLike(x)  y = IsNaN(e)  z, mean, deviation = BatchNormalization<training_mode = 1>(x, s, s,
            s, s)
        p = MatMulInteger(a, b) }""",
    "matmul": """(float[N, K] x, float[L, M] w, float[B, M, 3] v) => (float[A, C] y, float[D, E, F] z) {
        y = MatMul(x, w)  z = MatMul(y, v) }""",
    "einsum": """(float[N, K] x, float[K, M] w) => (float[A, B] y) {
        y = Einsum<equation = "nk,km->mn">(x, w) }""",
    "dequantized": """(uint8[N, K] x, float s, uint8 z) => (float[A, B] y) {
        y = DequantizeLinear(x, s, z) }""",
    "gemm": """(float[K, N] x, float[M, L] w) => (float[A, B] y) {
        y = Gemm<transA = 1, transB = 1>(x, w) }""",
    "qmatmul": """(uint8[N, K] x, uint8[L, M] w, float s, uint8 z) => (uint8[A, B] y) {
        y = QLinearMatMul(x, s, z, w, s, z, s, z) }""",
    "reductions": """(float[N, S, T] x) => (float[A, B] y, int64[C, D] i, float[E, F, 2] t, float[G, 1,
        1] m) {
        axes = Constant<value = int64[1] {1}>()  two = Constant<value = int64[1] {2}>()
        y = ReduceMean<keepdims = 0>(x, axes)  i = ArgMax<axis = -1, keepdims = 0>(x)
        t, j = TopK(x, two)  both = Constant<value = int64[2] {-1, -2}>()  m = ReduceMax(x, both) }""",
    "recurrent": """(float[T, N, 2] x, float[1, 12, 2] w, float[1, 12, 3] r, int32[M] l, float[1, B,
        3] h, float[1, C, 3] c)
        => (float[D, 1, E, 3] y, float[1, F, 3] last) {
        y, last, cell = LSTM<hidden_size = 3>(x, w, r, , l, h, c) }""",
    "windows": """(float[N, 2, H, W] x, float[3, 2, 3, 3] w, float[2, 4, 3, 3] v)
        => (float[A, 3, B, C] a, float[D, 3, E, F] b, float[G, 3, I, J] c, float[K, 2, L, M] d,
            float[O, 2, P, Q] e, float[R, 2, T, U] f, float[V, 2, 1, 1] g, float[X, 4, Y, Z] h) {
        a = Conv<pads = [1, 1, 1, 1]>(x, w)  b = Conv(x, w)
        c = Conv<strides = [2, 2], auto_pad = "SAME_UPPER">(x, w)
        d = MaxPool<kernel_shape = [3, 3], strides = [2, 1]>(x)
        e = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(x)
        f = AveragePool<kernel_shape = [3, 3], strides = [2, 1]>(x)
        g = GlobalAveragePool(x)  h = ConvTranspose<strides = [2, 2]>(x, v) }""",
    "moved": """(float[N, S, T] x, float[N, 2, T] y) => (float[A, B, C] t, float[D, E] f, float[F, G,
        H] c) {
        t = Transpose<perm = [2, 0, 1]>(x)  f = Flatten<axis = -1>(t)  c = Concat<axis = -2>(x, y, x)
        ones = Constant<value = int64[2] {1, -1}>()  u = Unsqueeze(x, ones)  q = Squeeze(u, ones) }""",
    "required": """(float[N, S] x, float[M, S] y, float[L, T] z) => (float[A, B] c, float[D, E] d) {
        c = Concat<axis = 1>(x, y)  d = Concat<axis = 0>(y, z)  e = Add(x, y) }""",
    "split": """(float[N, 6, S] x) => (float[A, 3, B] a, float[C, 2, D] c) {
        a, b = Split<axis = 1, num_outputs = 2>(x)  sizes = Constant<value = int64[2] {2, 4}>()
        c, d = Split<axis = 1>(x, sizes)  s = Shape(x)  one = Constant<value = int64[2] {1, 2}>()
        f, g = Split(s, one)  r = Concat<axis = 0>(f, g)  h = Reshape(x, r) }""",
    "slices": """(float[N, S, 5] x) => (float[A, B, 2] y, float[C, D, 5] z) {
        b = Constant<value = int64[3] {1, 0, -1}>()
        e = Constant<value = int64[3] {9223372036854775807, 9223372036854775807, 2}>()
        a = Constant<value = int64[3] {0, 1, 2}>()  p = Constant<value = int64[3] {1, 1, -1}>()
        y = Slice(x, b, e, a, p)  s = Shape(x)  i = Constant<value = int64[1] {0}>()
        j = Constant<value = int64[1] {1}>()
        n = Slice(s, i, j)  z = Slice(x, i, n, i)  w = Slice(x, b, e, a, p) }""",
    "reversed sequences": """(float[S, N, 4] x, int64[M] l) => (float[A, B, 4] y) {
        y = ReverseSequence(x, l) }""",
    "reversed": """(float[N, S] x) => (float[A, B] y) {
        b = Constant<value = int64[2] {9223372036854775807, -1}>()
        e = Constant<value = int64[2] {-9223372036854775808, -2147483648}>()
        a = Constant<value = int64[2] {0, 1}>()  p = Constant<value = int64[2] {-1, -1}>()
        y = Slice(x, b, e, a, p)  z = Relu(y) }""",
    "padded": """(float[N, S] x, float[N] y) => (float[A, B] p, float[C, D] t, float[E] q) {
        pads = Constant<value = int64[4] {1, 0, 2, 0}>()  p = Pad(x, pads)
        r = Constant<value = int64[2] {2, 3}>()
        t = Tile(x, r)  w = Constant<value = int64[2] {1, 2}>()  q = Pad(y, w) }""",
    "reshapes": """(float[N, S, 8] x, float[M, T] z) => (float[A, B, 2, 4] y, float[C, 8] f, float[D,
        E] g) {
        heads = Constant<value = int64[4] {0, 0, 2, 4}>()  y = Reshape(x, heads)
        flat = Constant<value = int64[2] {-1, 8}>()  f = Reshape(x, flat)
        s = Shape(x)  i = Constant<value = int64[1] {0}>()  j = Constant<value = int64[1] {1}>()
        n = Gather(s, i)  q = Gather(s, j)
        back = Constant<value = int64[1] {-1}>()  w = Concat<axis = 0>(n, back)  g = Reshape(f, w)
        v = Concat<axis = 0>(n, q, back)  h = Reshape(g, v)  nq = Mul(n, q)
        o = Concat<axis = 0>(nq, back)
        k = Reshape(h, o)  two = Constant<value = int64[1] {2}>()  half = Div(nq, two)
        count = Size(x)  c1 = Unsqueeze(count, i)  l = Reshape(x, c1)
        prod = ReduceProd<keepdims = 1>(s)  m = Reshape(x, prod) }""",
    "shapes": """(float[N, S] x, float[N, S] z) => (float[A, B] y, float[C, D] e, float[E] r, float[F, G] c) {
        s = Shape(x)  y = ConstantOfShape(s)  e = Expand(z, s)  h = Cast<to = 6>(s)  k = Cast<to = 7>(h)
        f = ConstantOfShape(k)  i = Constant<value = int64[1] {1}>()  n = Gather(s, i)
        one = Constant<value = int64[1] {1}>()
        n1 = Add(n, one)  r = ConstantOfShape(n1)  n2 = Sub(n1, one)  back = ConstantOfShape(n2)
        c = CenterCropPad<axes = [1]>(z, n) }""",
    "unpooled": """(float[N, 1, 2, 2] x, int64[N, 1, 2, 2] i, float[N, S, 4, 4] z) => (float[A, B, C,
        D] y) {
        s = Constant<value = int64[4] {1, 1, 4, 4}>()
        y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i, s)
        t = Shape(z)  w = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i, t) }""",
    "gathered": """(float[N, S] x, int64[K, L] i, int64[N, T] j, int64[K, 1] k) => (float[A, B, C] y,
        float[D, E] z) {
        y = Gather<axis = -1>(x, i)  z = GatherElements<axis = 1>(x, j)  w = GatherND(x, k)
        depth = Constant<value = int64[1] {3}>()  v = Constant<value_floats = [0.0, 1.0]>()
        d = Squeeze(depth)  o = OneHot(i, d, v) }""",
    "regions": """(float[N, C, H, W] x, float[K, 4] r, int64[K] i) => (float[A, B, D, E] y) {
        y = RoiAlign<output_height = 2, output_width = 3>(x, r, i)
        z = Transpose<perm = [1, 0, 2, 3]>(y) }""",
    "samples": """(float[N, C, 4, 5] x, float[N, H, W, 2] g) => (float[A, B, D, E] y) {
        y = GridSample(x, g)
        z = Transpose<perm = [1, 0, 2, 3]>(y) }""",
    "resized": """(float[N, C, H, W] x, float[M, 3, S, T] l) => (float[A, B, D, E] y, float[F, G, I, J] z,
        float[K, L, O, P] w) {
        c = Constant<value = int64[2] {2, 3}>()  s = Shape(l)  h = Gather(s, c)
        y = Resize<axes = [2, 3]>(x, , , h)
        f = Constant<value = float[4] {1.0, 1.0, 2.0, 0.75}>()  z = Resize(x, , f)
        g = Constant<value = float[2] {0.7, 0.5}>()  w = Resize<axes = [3, 2]>(x, , g) }""",
    "unique": """(float[N, S] x) => (float[A] y, int64[B] i, int64[C] c) {
        y, f, i, c = Unique(x)
        z, g, j, d = Unique<axis = -1>(x)  a = Add(z, x) }""",
    "upsampled": """(float[N, C, H, W] x) => (float[A, B, D, E] y) {
        f = Constant<value = float[4] {1.0, 1.0, 2.0, 3.0}>()  y = Upsample(x, f) }""",
    "blocks": """(float[N, 4, H, W] x) => (float[A, 1, B, C] d, float[D, 4, E, F] s) {
        d = DepthToSpace<blocksize = 2>(x)  s = SpaceToDepth<blocksize = 2>(d) }""",
    "branches": """(bool c, float[N, S] x) => (float[A, B] y) {
        y = If(c) <then_branch = yes () => (float[A, B] p) { p = Relu(x) },
                   else_branch = no () => (float[A, B] q) { q = Concat<axis = 1>(x, x) }>
        z = Concat<axis = 1>(y, x) }""",
    "computed": """(float[N, S] x, float[M] v) => (float[A, B] r, float[C] a, float[D] b, float[E] c,
        float[F] d, float[G] e, float[H] g, float[I] h, float[J, K] k, float[L] l) {
        s = Shape(x)  i = Constant<value = int64[1] {0}>()  j = Constant<value = int64[1] {1}>()
        n = Gather(s, i)  q = Gather(s, j)  three = Constant<value = int64[1] {3}>()
        below = Neg(three)  far = Sub(n, below)  a = ConstantOfShape(far)
        least = Min(n, q)  b = ConstantOfShape(least)
        most = Max(q, n)  flat = Abs(most)  c = ConstantOfShape(flat)
        rest = Mod(q, three)  d = ConstantOfShape(rest)
        again = Mod(q, three)  more = ConstantOfShape(again)
        minus = Sub(n, q)  wrapped = Mod(minus, three)  none = Mod(n, n)
        zeros = Concat<axis = 0>(none, wrapped)  k = ConstantOfShape(zeros)
        signed = Mod<fmod = 1>(minus, three)  distance = Abs(signed)  l = ConstantOfShape(distance)
        sum = ReduceSum<keepdims = 1>(s)  e = ConstantOfShape(sum)
        last = ReduceMax<keepdims = 1>(s)  first = ReduceMin<keepdims = 1>(s)
        spread = Sub(last, first)  g = ConstantOfShape(spread)
        same = Equal(n, n)  other = Not(same)  all = And(same, other)
        pick = Where(all, q, n)  h = ConstantOfShape(pick)
        zero = Constant<value = int64 {0}>()  two = Constant<value = int64 {2}>()
        one = Constant<value = int64 {1}>()  places = Range(zero, two, one)  back = Gather(s, places)
        ones = ConstantOfShape<value = int64[1] {1}>(j)  tiled = Tile(ones, j)
        wide = Expand(tiled, j)  both = Mul(back, wide)  r = Reshape(x, both)
        big = Tile(v, three) }""",
    "scattered": """(float[N, S] x) => (float[A, 3] a, float[B, C] b, float[D, 3] c, float[E, 3] d,
        float[F, G, H, I] e) {
        s = Shape(x)  i = Constant<value = int64[1] {0}>()  j = Constant<value = int64[1] {1}>()
        n = Gather(s, i)  q = Gather(s, j)  three = Constant<value = int64[1] {3}>()
        mixed = Concat<axis = 0>(n, three)  moved = ScatterElements(mixed, i, q)  a = ConstantOfShape(moved)
        last = Constant<value = int64[1, 1] {-1}>()  all = ScatterND(mixed, last, q)  b = ConstantOfShape(all)
        sum = ScatterElements<reduction = "add">(mixed, i, q)  c = ConstantOfShape(sum)
        same = Constant<value = int64[2] {0, 0}>()  any = ScatterElements(mixed, same, s)
        d = ConstantOfShape(any)  square = Constant<value = int64[2] {2, 2}>()
        both = Concat<axis = 0>(mixed, mixed)  rows = Reshape(both, square)
        column = Constant<value = int64[2, 1] {0, 1}>()  sizes = Unsqueeze(s, j)
        diagonal = ScatterElements<axis = 1>(rows, column, sizes)  minus = Constant<value = int64[1] {-1}>()
        flat = Reshape(diagonal, minus)  e = ConstantOfShape(flat) }""",
    "moved elements": """(float[N, S] x) => (float[A, B, C, D] a, float[E, F, G] b, float[H, I] c,
        float[J, K, L] d) {
        minus = Constant<value = int64[1] {-1}>()  far = Constant<value = int64[1] {-9223372036854775807}>()
        zero = Constant<value = int64[1] {0}>()  one = Constant<value = int64[1] {1}>()
        three = Constant<value = int64[1] {3}>()  two = Constant<value = int64[1] {2}>()
        pairs = Constant<value = int64[2] {-1, 2}>()  row = Constant<value = int64 {-2}>()
        s = Shape(x)  all = Concat<axis = 0>(s, three, s, one)  table = Reshape(all, pairs)
        back = Slice(table, minus, far, zero, minus)  turned = Transpose(back)  same = Identity(turned)
        some = Slice(turned, zero, two, one)  f = Reshape(some, minus)  a = ConstantOfShape(f)
        part = Slice(same, one, three)  whole = Flatten<axis = 0>(part)  q = Squeeze(whole, zero)
        b = ConstantOfShape(q)  r = Gather(back, row)  c = ConstantOfShape(r)
        column = Gather<axis = 1>(back, minus)  u = Unsqueeze(column, one)  l = Reshape(u, minus)
        d = ConstantOfShape(l) }""",
    "loops": """(float[N, S] x, float[S] v, bool go) => (float[A, B] y, float[C, D] z, float[E, F] w) {
        s = Shape(x)  i = Constant<value = int64 {0}>()  n = Gather(s, i)  yes = Constant<value = int64 {1}>()
        always = Cast<to = 9>(yes)
        y, grown, w = Loop(n, always, x, x) <body = turn
            (int64 k, bool c, float[P, Q] p, float[R, Q2] g) => (bool d, float[P, Q] o, float[T, U] h,
                float[V] t) { d = Identity(c)  o = Relu(p)  h = Concat<axis = 0>(g, g)  t = Neg(v) }>
        state, z = Scan(v, x) <num_scan_inputs = 1, body = step
            (float[S] a, float[S] b) => (float[S] c, float[S] d) { c = Neg(a)  d = Mul(b, b) }>
        u = Add(y, x) }""",
}
"""Graphs; the names of their inputs' dimensions are given sizes below."""

SIZES_TO_TRY = (2, 3, 5, 8)

EQUAL = {
    "channels": {"P": "C"},
    "matmul": {"K": "L"},
    "reversed sequences": {"M": "N"},
    "gemm": {"K": "L"},
    "qmatmul": {"K": "L"},
    "required": {"M": "N", "T": "S"},
    "recurrent": {"M": "N", "B": "N", "C": "N"},
}
"""Names of dimensions that an op requires to be equal."""

OPSETS = {"normalized": 23, "attention": 23, "upsampled": 9}
"""Of models whose operators are newer or older than the others'."""

FIXED = {"unpooled": {"N": 1, "S": 1}}


def model(name: str) -> onnx.ModelProto:
    header = f'<ir_version: 10, opset_import: ["" : {OPSETS.get(name, 20)}]> main '
    return onnx.parser.parse_model(header + MODELS[name])


def module(proto: onnx.ModelProto) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    made = import_proto(proto, context)
    infer_shapes(made)
    return made


def feeds(proto: onnx.ModelProto, sizes: Mapping[str, int]) -> dict[str, Array]:
    random = np.random.default_rng(0)
    found: dict[str, Array] = {}
    for port in proto.graph.input:
        tensor = port.type.tensor_type
        shape = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        whole = dtype.kind in "iub"
        found[port.name] = (random.integers(0, 2, shape) if whole else random.normal(size=shape)).astype(
            dtype
        )
    return found


def runs(name: str) -> Iterator[dict[str, tuple[int, ...]]]:
    """The shapes of all values that a model of one name computes, for several sizes."""
    proto = model(name)
    names = {dim.dim_param for port in proto.graph.input for dim in port.type.tensor_type.shape.dim}
    outer = {output for node in proto.graph.node for output in node.output if output}
    expected = sorted(outer | {port.name for port in proto.graph.input})
    evaluator: Evaluator = import_module("onnx.reference").ReferenceEvaluator(proto)
    for iteration in range(len(SIZES_TO_TRY)):
        sizes = {
            each: SIZES_TO_TRY[(iteration + index) % len(SIZES_TO_TRY)]
            for index, each in enumerate(sorted(names - {""}))
        }
        sizes |= {each: sizes[other] for each, other in EQUAL.get(name, {}).items()} | FIXED.get(name, {})
        results = evaluator.run(expected, feeds(proto, sizes))
        yield {each: np.shape(result) for each, result in zip(expected, results, strict=True)}


def named_values(made: ModuleOp, proto: onnx.ModelProto) -> dict[SSAValue, str]:
    """The values of the main graph by their names in the model."""
    (function,) = (op for op in made.ops if isinstance(op, FuncOp))
    block = function.body.block
    inputs = [port.name for port in proto.graph.input]
    found: dict[SSAValue, str] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        names = output_names(op)
        found.update((result, names[result.index]) for result in op.results if result.index < len(names))
    return {value: name for value, name in found.items() if name and is_ranked(value.type)}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", MODELS)
def test_what_is_said_to_be_equal_is_equal(name: str) -> None:
    proto = model(name)
    made = module(proto)
    analysis, values = DimAnalysis(made), named_values(made, proto)
    members = [member for member in analysis.members() if member.value in values]
    dimensions = [(value, axis) for value in values for axis in range(len(analysis.sizes(value) or ()))]
    assert members
    for shapes in runs(name):
        seen: dict[int, int] = {}
        for member in members:
            size = shapes[values[member.value]][member.axis]
            assert seen.setdefault(member.group, size) == size, (values[member.value], member)
        for (a, axis), (b, other) in combinations(dimensions, 2):
            offset = analysis.offset(a, axis, b, other)
            if offset is not None:
                assert shapes[values[a]][axis] - shapes[values[b]][other] == offset
                assert analysis.same_dim(a, axis, b, other) == (offset == 0)


def groups(name: str) -> list[set[str]]:
    """The dimensions that are said to be equal, `value.axis` each."""
    proto = model(name)
    made = module(proto)
    values = named_values(made, proto)
    found: dict[int, set[str]] = defaultdict(set)
    for member in DimAnalysis(made).members():
        if member.value in values:
            found[member.group].add(f"{values[member.value]}.{member.axis}")
    return list(found.values())


KNOWN = {
    "elementwise": [{f"{v}.0" for v in "xyabcdefghrkm"}, {*(f"{v}.1" for v in "xyabcdefghrkm"), "z.0"}],
    "einsum": [{"x.0", "y.1"}, {"x.1", "w.0"}, {"w.1", "y.0"}],
    "dequantized": [{"x.0", "y.0"}, {"x.1", "y.1"}],
    "matmul": [{"x.0", "y.0", "z.1"}, {"x.1", "w.0"}, {"w.1", "y.1", "v.1"}, {"v.0", "z.0"}],
    "required": [
        {"x.0", "y.0", "c.0", "e.0"},
        {"x.1", "y.1", "z.1", "d.1", "e.1"},
        {"z.0"},
        {"d.0"},
        {"c.1"},
    ],
    "recurrent": [{"x.0", "y.0"}, {"x.1", "y.2", "last.1", "cell.1", "l.0", "h.1", "c.1"}],
    "reversed sequences": [{"x.0", "y.0"}, {"x.1", "y.1", "l.0"}],
    "reversed": [{"x.0", "y.0", "z.0"}, {"x.1", "y.1", "z.1"}],
    "slices": [{"x.0", "z.0"}, {"x.1", "y.1", "z.1", "w.1"}, {"y.0", "w.0"}],
    "reshapes": [
        {"x.0", "y.0", "g.0", "h.0"},
        {"x.1", "y.1", "h.1"},
        {"f.0", "k.0"},
        {"g.1"},
        {"l.0", "m.0"},
        {"z.0"},
        {"z.1"},
    ],
    "shapes": [
        {"x.0", "y.0", "e.0", "z.0", "f.0", "c.0"},
        {"x.1", "y.1", "e.1", "z.1", "f.1", "back.0", "c.1"},
        {"r.0"},
    ],
    "resized": [
        {"x.0", "y.0", "z.0", "w.0"},
        {"x.1", "y.1", "z.1", "w.1"},
        {"x.2"},
        {"x.3"},
        {"l.0"},
        {"l.2", "y.2"},
        {"l.3", "y.3"},
        {"z.2"},
        {"z.3"},
        {"w.2"},
        {"w.3"},
    ],
    "unique": [
        {"x.0", "z.0", "a.0"},
        {"x.1", "j.0"},
        {"y.0"},
        {"f.0"},
        {"i.0"},
        {"c.0"},
        {"z.1"},
        {"g.0"},
        {"d.0"},
        {"a.1"},
    ],
    "upsampled": [{"x.0", "y.0"}, {"x.1", "y.1"}, {"x.2"}, {"x.3"}, {"y.2"}, {"y.3"}],
    "blocks": [{"x.0", "d.0", "s.0"}, {"x.2", "s.2"}, {"x.3", "s.3"}, {"d.2"}, {"d.3"}],
    "computed": [
        {"x.0", "h.0", "r.0"},
        {"x.1", "r.1"},
        {"v.0"},
        {"a.0"},
        {"b.0"},
        {"c.0"},
        {"d.0", "more.0"},
        {"e.0"},
        {"g.0"},
        {"big.0"},
        {"k.1"},
        {"l.0"},
    ],
    "scattered": [
        {"x.0", "b.0"},
        {"x.1", "a.0", "b.1"},
        {"c.0"},
        {"d.0"},
        {"e.0"},
        {"e.1"},
        {"e.2"},
        {"e.3"},
    ],
    "loops": [
        {"x.0", "y.0", "w.0", "u.0", "z.0"},
        {"x.1", "y.1", "w.1", "u.1", "z.1", "v.0", "state.0", "grown.1"},
        {"grown.0"},
    ],
    "branches": [{"x.0", "y.0", "z.0"}, {"x.1"}, {"y.1"}, {"z.1"}],
    "moved elements": [{"x.0", "a.3", "b.1", "c.1", "d.1"}, {"x.1", "a.0", "b.2", "d.2"}],
}


@pytest.mark.parametrize("name", KNOWN)
def test_all_that_is_equal_is_known(name: str) -> None:
    assert sorted(map(sorted, groups(name))) == sorted(map(sorted, KNOWN[name]))


def test_every_rule_is_at_work() -> None:
    ops = {op.name.removeprefix("onnx.") for name in MODELS for op in module(model(name)).walk()}
    symbolic = {name: function for name, function in SHAPE_FUNCTIONS.items() if name in SYMBOLIC}
    rules = (SIZES, ELEMENTS, symbolic)
    used = {table[op] for table in rules for op in ops & table.keys()}
    # Not those of plug-ins that other tests have registered.
    every = {rule for table in rules for rule in table.values() if ".plugins." not in rule.__module__}
    idle = {rule.__name__ for rule in every - used}
    in_ir = {"dim", "concat_shape_transpose", "im2col", "upsample_and_pad"}
    assert idle == in_ir, "test/lit/transforms/onnx-dim-analysis.mlir has ops that are not ONNX operators"


def test_the_name_of_a_result_gives_way_to_what_is_known() -> None:
    """x + x is not N wide,
    whatever the model calls it; of what nothing is known the name is believed."""
    text = """<ir_version: 10, opset_import: ["" : 20]> main (float[N] x, float[N,
        M] z) => (float[N] y, int64[2, M] w) {
        y = Concat<axis = 0>(x, x)  w = NonZero(z) }"""
    made = module(onnx.parser.parse_model(text))
    analysis = DimAnalysis(made)
    values = {name: value for value, name in named_values(made, onnx.parser.parse_model(text)).items()}
    assert not analysis.same_dim(values["x"], 0, values["y"], 0)
    assert analysis.same_dim(values["z"], 1, values["w"], 1)


@pytest.mark.parametrize("operands", ["far, q", "i, s"])
def test_invalid_indices_scatter_nothing(operands: str) -> None:
    """Models that fail at runtime, of an index out of range and of fewer indices than updates."""
    text = f"""<ir_version: 10, opset_import: ["" : 20]> main (float[N, S] x) => (float[A, B] y) {{
        s = Shape(x)  i = Constant<value = int64[1] {{0}}>()  q = Gather(s, i)
        far = Constant<value = int64[1] {{3}}>()  moved = ScatterElements(s, {operands})
        y = ConstantOfShape(moved) }}"""
    proto = onnx.parser.parse_model(text)
    made = module(proto)
    analysis = DimAnalysis(made)
    values = {name: value for value, name in named_values(made, proto).items()}
    assert not analysis.same_dim(values["x"], 0, values["y"], 1)
    assert not analysis.same_dim(values["x"], 0, values["y"], 0)


def test_sizes_that_may_be_zero_are_not_divided_out() -> None:
    """(n, s) reshaped to (n, k): k is s, unless n is 0; only a -1 makes that an error."""
    text = """<ir_version: 10, opset_import: ["" : 20]> main (float[N, S] x, int64[1] k) => (float[A,
        B] y, float[C, D] z) {
        s = Shape(x)  i = Constant<value = int64[1] {0}>()  n = Gather(s, i)  w = Concat<axis = 0>(n, k)
        y = Reshape(x, w)
        back = Constant<value = int64[1] {-1}>()  v = Concat<axis = 0>(n, back)  z = Reshape(x, v) }"""
    made = module(onnx.parser.parse_model(text))
    analysis = DimAnalysis(made)
    values = {name: value for value, name in named_values(made, onnx.parser.parse_model(text)).items()}
    assert not analysis.same_dim(values["x"], 1, values["y"], 1)
    assert analysis.same_shape(values["x"], values["z"])
    assert not analysis.same_shape(values["x"], values["y"])


@pytest.mark.parametrize("nodes", [500, 4000])
def test_the_cost_of_a_node_is_flat(nodes: int) -> None:
    """A long chain of sizes that are made equal from its end on."""
    links = " ".join(f"v{i + 1} = Add(v{i}, x{i % 3})" for i in range(nodes))
    text = f"""<ir_version: 10, opset_import: ["" : 20]> main (float[N, 4] v0, float[M, 4] x0, float[L,
        4] x1, float[1, 4] x2)
        => (float[A, 4] v{nodes}) {{ {links} }}"""
    made = module(onnx.parser.parse_model(text))
    analysis = DimAnalysis(made)
    last = next(op for op in reversed(list(made.walk())) if op.name == "onnx.Add").results[0]
    assert isinstance(last, OpResult)
    earlier = last.op.operands[0]
    assert analysis.same_shape(last, earlier)


def test_axes_beside_an_unknown_target_of_expand_are_known() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20]> main (float[N, 1] x, int64[1] k) => (float[A, B] y) {
        s = Shape<end = 1>(x)  w = Concat<axis = 0>(s, k)  y = Expand(x, w) }"""
    made = module(onnx.parser.parse_model(text))
    analysis = DimAnalysis(made)
    values = {name: value for value, name in named_values(made, onnx.parser.parse_model(text)).items()}
    assert analysis.same_dim(values["x"], 0, values["y"], 0)
    assert not analysis.same_dim(values["x"], 1, values["y"], 1)


def test_a_bias_adds_no_symbol_to_a_gemm() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20]> main (float[N, K] x, float[K, M] w, float[P, Q] c)
        => (float[A, B] y) { y = Gemm(x, w, c) }"""
    made = module(onnx.parser.parse_model(text))
    analysis = DimAnalysis(made)
    values = {name: value for value, name in named_values(made, onnx.parser.parse_model(text)).items()}
    assert analysis.same_dim(values["x"], 0, values["y"], 0)
    assert analysis.same_dim(values["w"], 1, values["y"], 1)


def test_the_analysis_leaves_properties_as_they_are() -> None:
    """Shape inference makes a negative axis non-negative; the analysis runs the same rule."""
    text = """<ir_version: 10, opset_import: ["" : 20]> main (float[N, 3] x) => (int64[A, B] y) {
        y = ArgMax<axis = -1>(x) }"""
    made = import_proto(onnx.parser.parse_model(text), new_context())
    before = str(made)
    DimAnalysis(made, is_thorough=True)
    assert "axis = -1" in before
    assert str(made) == before


def test_the_analysis_refuses_contradicting_static_dimensions() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20]> main (float[N, 3] x, float[4, M] w) => (float[A,
        B] y) { y = MatMul(x, w) }"""
    made = import_proto(onnx.parser.parse_model(text), new_context())
    with pytest.raises(
        ShapeError, match=r"y: MatMul: A 'x' \[\?, 3\] times B 'w' \[4, \?\]: 3 columns for 4"
    ):
        DimAnalysis(made)


def test_an_empty_vector_beside_ranked_operands_of_concat_does_not_count() -> None:
    """Exporters concatenate caches with an empty tensor of rank 1."""
    text = """<ir_version: 10, opset_import: ["" : 20]> main (float[N, S] x) => (float[A, B] y) {
        e = Constant<value = float[0] {}>()  y = Concat<axis = 1>(e, x, x) }"""
    made = module(onnx.parser.parse_model(text))
    analysis = DimAnalysis(made)
    values = {name: value for value, name in named_values(made, onnx.parser.parse_model(text)).items()}
    assert analysis.same_dim(values["x"], 0, values["y"], 0)
    assert not analysis.same_dim(values["x"], 1, values["y"], 1)


def test_no_part_of_a_split_is_negative() -> None:
    """One element in three parts is 1, 0 and 0."""
    text = """<ir_version: 10, opset_import: ["" : 20]> main (float[N] x) => (float[A] a,
        float[B] b, float[C] c) { a, b, c = Split<num_outputs = 3>(x) }"""
    made = module(onnx.parser.parse_model(text))
    analysis = DimAnalysis(made)
    split = next(op for op in made.walk() if op.name == "onnx.Split")
    names = [dim_names(result, analysis)[0] for result in split.results]
    extent = "floor((N + 2)/3)"
    assert names == [extent, *(f"min({extent}, max(N - {k}{extent}, 0))" for k in ("", "2*"))]


def test_the_keys_of_attention_follow_those_of_the_past() -> None:
    text = """<ir_version: 10, opset_import: ["" : 24]> main (float[N, S, H] q, float[N, T, 8] k,
        float[N, T, 8] v, float[N, 2, P, 4] old_k, float[N, 2, P, 4] old_v) => (float[A, B, C] y,
        float[D, 2, E, 4] new_k,
        float[F, 2, G, 4] new_v) {
        y, new_k, new_v = Attention<q_num_heads = 2, kv_num_heads = 2>(q, k, v, , old_k, old_v) }"""
    made = module(onnx.parser.parse_model(text))
    analysis = DimAnalysis(made)
    attention = next(op for op in made.walk() if op.name == "onnx.Attention")
    assert [dim_names(result, analysis) for result in attention.results[:3]] == [
        {0: "N", 1: "S"},
        {0: "N", 2: "P + T"},
        {0: "N", 2: "P + T"},
    ]


def test_a_call_gives_results_the_dimensions_that_the_function_names() -> None:
    """Those of operands, or new ones; results of equal names are equal."""
    text = """
        func.func @main(%x: tensor<?x3xf32>) -> tensor<?xf32> {
          %0:3 = func.call @part(%x) : (tensor<?x3xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<2x?xf32>)
          func.return %0#0 : tensor<?xf32>
        }
        func.func private @part(%a: tensor<?x3xf32> {onnx.dim_params = "0:d0"}) -> (
            tensor<?xf32> {onnx.dim_params = "0:d0"}, tensor<?xf32> {onnx.dim_params = "0:d1"},
            tensor<2x?xf32> {onnx.dim_params = "1:d1"}) {
          %c = onnx.Constant dense<0> : tensor<i64>
          %0 = "onnx.Gather"(%a, %c) <{axis = 1 : si64}> : (tensor<?x3xf32>, tensor<i64>) -> tensor<?xf32>
          %1 = "onnx.NonZero"(%a) : (tensor<?x3xf32>) -> tensor<2x?xi64>
          %2 = "onnx.Cast"(%1) <{to = f32}> : (tensor<2x?xi64>) -> tensor<2x?xf32>
          %3 = "onnx.Gather"(%2, %c) <{axis = 0 : si64}> : (tensor<2x?xf32>, tensor<i64>) -> tensor<?xf32>
          func.return %0, %3, %2 : tensor<?xf32>, tensor<?xf32>, tensor<2x?xf32>
        }"""
    made = Parser(new_context(), text).parse_module()
    analysis = DimAnalysis(made)
    main = next(op for op in made.walk() if isinstance(op, FuncOp))
    call = next(op for op in made.walk() if op.name == "func.call")
    same, found, also_found = call.results
    assert analysis.same_dim(main.body.block.args[0], 0, same, 0)
    assert analysis.same_dim(found, 0, also_found, 1)
    assert not analysis.same_dim(found, 0, same, 0)
