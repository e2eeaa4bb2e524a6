"""The rules about shapes, each alone and all together, against the ONNX reference on dynamic sizes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from xonnc.dialects.onnx import get_onnx
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.onnx_shape_inference import infer_results
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.patterns import Array
from xonnc.rewriting.rules import RuleSet
from xonnc.rewriting.statistics import collecting
from xonnc.transforms.onnx_package_hooks import use_inference
from xonnc.transforms.remove_same_onnx_dim import RemoveSameOnnxDim
from xonnc.transforms.rules.shape_related_sizes import RULES
from xonnc.transforms.shape_inference_onnx import infer_shapes
from xonnc.transforms.simplify_shape_related_ops_onnx import SimplifyShapeRelatedOps

use_inference(infer_results)


class Evaluator(Protocol):
    """The reference, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, Array]) -> Sequence[Array]: ...


HEADER = '<ir_version: 10, opset_import: ["" : 20]> main '

INPUT = "(float[N, 3, M, K] x)"

MODELS = {
    "ShapeToDimConcat": [
        "(int64[4] s, int64[2] t, int64[1] u, int64[0] v) { s = Shape(x)  t = Shape<start = 1, end = -1>(x)"
        " u = Shape<start = -4, end = 1>(x)  v = Shape<start = 3, end = 1>(x) }",
    ],
    "PassThroughCast": [
        "(float[4] y) { s = Shape(x)  y = Cast<to = 1>(s) }",
        "(int32[2] y, bool[4] b) { s = Shape<start = 1, end = 3>(x)  y = Cast<to = 6>(s)"
        " t = Shape(x)  b = Cast<to = 9>(t) }",
    ],
    "PassThroughConcat": [
        "(int64[8] y) { s = Shape(x)  y = Concat<axis = 0>(s, s) }",
        "(int64[6] y) { s = Shape(x)  one = Constant<value = int64[1] {7}>()"
        " y = Concat<axis = -1>(one, s, one) }",
    ],
    "PassThroughGather": [
        "(int64 y, int64[1] z) { s = Shape(x)  i = Constant<value = int64 {-1}>()  y = Gather(s, i)"
        " j = Constant<value = int64[1] {2}>()  z = Gather<axis = -1>(s, j) }",
        "(int64[3] y) { s = Shape(x)  i = Constant<value = int64[3] {-4, 3, -2}>()  y = Gather(s, i) }",
    ],
    "PassThroughSlice": [
        "(int64[2] y) { s = Shape(x)  b = Constant<value = int64[1] {1}>()"
        " e = Constant<value = int64[1] {-1}>()  y = Slice(s, b, e) }",
        "(int64[2] y) { s = Shape(x)  b = Constant<value = int64[1] {-1}>()"
        " a = Constant<value = int64[1] {0}>()"
        " e = Constant<value = int64[1] {-9223372036854775808}>()  p = Constant<value = int64[1] {-2}>()"
        " y = Slice(s, b, e, a, p) }",
    ],
    "UpdateReshape": [
        "(float[A, B, C] y) { n = Shape<end = 2>(x)  r = Constant<value = int64[1] {-1}>()"
        " w = Concat<axis = 0>(n, r)  y = Reshape(x, w) }",
        "(float[A, B, C] y) { n = Shape<end = 1>(x)  r = Constant<value = int64[1] {-1}>()"
        " c = Shape<start = 1, end = 2>(x)  w = Concat<axis = 0>(r, c, n)  y = Reshape(x, w) }",
    ],
    "UpdateConstantOfShape": [
        "(float[A, B] y) { s = Shape<end = 2>(x)  y = ConstantOfShape(s) }",
        "(int32[A, D, B, C] y) { s = Shape(x)  y = ConstantOfShape<value = int32[1] {5}>(s) }",
    ],
}
"""For each rule, models in which it applies; those of one input share its head."""

NO_REFINEMENT = ("UpdateReshape", "UpdateConstantOfShape")


def context() -> Context:
    made = Context()
    for dialect in (Builtin, Func, get_onnx()):
        made.load_dialect(dialect)
    return made


def run(model: onnx.ModelProto, n: int, m: int, k: int) -> Sequence[Array]:
    evaluator: Evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
    x = np.random.default_rng(0).normal(size=(n, 3, m, k)).astype(np.float32)
    return evaluator.run(None, {"x": x})


def check_numbers(before: onnx.ModelProto, module: ModuleOp) -> None:
    """Holds a module against the model it was made of, on several sizes."""
    module.verify()
    after = export_proto(module)
    onnx.shape_inference.infer_shapes(after, check_type=True, strict_mode=True)
    for sizes in (1, 1, 1), (2, 5, 4), (3, 2, 7), (0, 3, 2):
        try:
            expected = run(before, *sizes)
        except ValueError:
            assert 0 in sizes
            continue
        for old, new in zip(expected, run(after, *sizes), strict=True):
            assert old.dtype == new.dtype
            np.testing.assert_array_equal(new, old, strict=True)


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    """The rule alone, on what the first one makes."""
    for text in MODELS[name]:
        model = onnx.parser.parse_model(f"{HEADER} {INPUT} => {text}")
        ctx = context()
        module = import_proto(model, ctx)
        if name not in NO_REFINEMENT:
            infer_shapes(module)
        rules = RuleSet({each: RULES[each] for each in ("ShapeToDimConcat", "PassThroughConcat", name)})
        report = apply_rules(module, ctx, rules, pass_name="test")
        assert report.fired[name]
        infer_shapes(module)
        check_numbers(model, module)


@pytest.mark.parametrize("text", [text for texts in MODELS.values() for text in texts])
def test_pass(text: str) -> None:
    model = onnx.parser.parse_model(f"{HEADER} {INPUT} => {text}")
    ctx = context()
    module = import_proto(model, ctx)
    SimplifyShapeRelatedOps().apply(ctx, module)
    check_numbers(model, module)
    RemoveSameOnnxDim().apply(ctx, module)
    check_numbers(model, module)


class Cuttings:
    """A graph of shapes cut up and put together; every vector is an output."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.lengths: dict[str, int] = {}
        self.keep("Shape(x)", 4)
        for _ in range(12):
            steps = (self.shape, self.gather, self.scalar, self.slice, self.concat, self.cast, self.number)
            self.random.choice(steps)(*self.random.choice(list(self.lengths.items())))

    def line(self, text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def keep(self, text: str, length: int) -> None:
        self.lengths[self.line(text)] = length

    def constant(self, *numbers: int) -> str:
        return self.line(f"Constant<value = int64[{len(numbers)}] {{{', '.join(map(str, numbers))}}}>()")

    def shape(self, name: str, length: int) -> None:
        start = self.random.randrange(-4, 4)
        self.keep(f"Shape<start = {start}>(x)", -start % 4 or 4)

    def number(self, name: str, length: int) -> None:
        self.keep(f"Identity({self.constant(self.random.randrange(1, 5))})", 1)

    def gather(self, name: str, length: int) -> None:
        picked = [self.random.randrange(-length, length) for _ in range(self.random.randrange(1, 4))]
        self.keep(f"Gather({name}, {self.constant(*picked)})", len(picked))

    def scalar(self, name: str, length: int) -> None:
        index = self.line(f"Constant<value = int64 {{{self.random.randrange(-length, length)}}}>()")
        picked = self.line(f"Gather({name}, {index})")
        self.keep(f"Unsqueeze({picked}, {self.constant(0)})", 1)

    def slice(self, name: str, length: int) -> None:
        start, end = self.random.randrange(-length, length), self.random.randrange(-length, length + 2)
        step = self.random.choice([1, 1, 2, -1])
        if left := len(range(length)[start:end:step]):
            bounds = [self.constant(number) for number in (start, end, 0, step)]
            self.keep(f"Slice({name}, {', '.join(bounds)})", left)

    def concat(self, name: str, length: int) -> None:
        other = self.random.choice(list(self.lengths))
        if length + self.lengths[other] <= 9:
            self.keep(f"Concat<axis = 0>({name}, {other})", length + self.lengths[other])

    def cast(self, name: str, length: int) -> None:
        narrow = self.line(f"Cast<to = 6>({name})")
        self.keep(f"Cast<to = 7>({narrow})", length)

    def model(self) -> onnx.ModelProto:
        outputs = [f"int64[{length}] {name}" for name, length in self.lengths.items()]
        for name in [name for name, length in self.lengths.items() if length <= 3][-2:]:
            made = self.line(f"ConstantOfShape({name})")
            sizes = ", ".join(f"{made}{axis}" for axis in range(self.lengths[name]))
            outputs.append(f"float[{sizes}] {made}")
        body = "  ".join(self.lines)
        return onnx.parser.parse_model(f"{HEADER} {INPUT} => ({', '.join(outputs)}) {{ {body} }}")


@pytest.mark.parametrize("seed", range(60))
def test_random_shapes(seed: int) -> None:
    model = Cuttings(seed).model()
    ctx = context()
    module = import_proto(model, ctx)
    SimplifyShapeRelatedOps().apply(ctx, module)
    names = {op.name for op in module.walk()}
    assert not names & {"onnx.Shape", "onnx.Gather", "onnx.Slice"}
    RemoveSameOnnxDim().apply(ctx, module)
    dims = Counter(op.name for op in module.walk())["onnx.Dim"]
    assert dims <= 3, "x has three dynamic sizes"
    check_numbers(model, module)


ATTENTION = f"""{HEADER} (float[N, S, 8] x) => (float[A, B, C, D] q, float[E, F, G] y) {{
    s = Shape(x)  zero = Constant<value = int64 {{0}}>()  one = Constant<value = int64 {{1}}>()
    axis = Constant<value = int64[1] {{0}}>()  heads = Constant<value = int64[2] {{2, 4}}>()
    rest = Constant<value = int64[1] {{-1}}>()
    n = Gather(s, zero)  m = Gather(s, one)  n1 = Unsqueeze(n, axis)  m1 = Unsqueeze(m, axis)
    w = Concat<axis = 0>(n1, m1, heads)  r = Reshape(x, w)  q = Transpose<perm = [0, 2, 1, 3]>(r)
    s2 = Shape(q)  p = Gather(s2, zero)  t = Transpose<perm = [0, 2, 1, 3]>(q)
    p1 = Unsqueeze(p, axis)  back = Concat<axis = 0>(p1, m1, rest)  y = Reshape(t, back) }}"""


def test_the_shapes_of_attention() -> None:
    """Only the two sizes of the input are asked for, and the heads are in the types."""
    model = onnx.parser.parse_model(ATTENTION)
    ctx = context()
    module = import_proto(model, ctx)
    with collecting() as ledger:
        SimplifyShapeRelatedOps().apply(ctx, module)
    RemoveSameOnnxDim().apply(ctx, module)
    names = Counter(op.name for op in module.walk())
    assert ledger.counts[SimplifyShapeRelatedOps.name]["PassThroughGather"] == 3
    assert names["onnx.Dim"] == 2
    assert not {"onnx.Shape", "onnx.Gather", "onnx.Unsqueeze", "onnx.Squeeze"} & names.keys()
    types = [str(op.results[0].type) for op in module.walk() if op.name == "onnx.Reshape"]
    assert types[0] == "tensor<?x?x2x4xf32>"
    after = export_proto(module)
    x = np.random.default_rng(0).normal(size=(3, 5, 8)).astype(np.float32)
    for old, new in zip(
        *(
            import_module("onnx.reference").ReferenceEvaluator(each).run(None, {"x": x})
            for each in (model, after)
        ),
        strict=True,
    ):
        np.testing.assert_array_equal(new, old, strict=True)
