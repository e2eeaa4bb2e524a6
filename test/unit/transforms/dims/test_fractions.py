"""Integers computed from sizes with floats: what the dimension analysis says, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

import xonnc
from xonnc.contexts import new_context
from xonnc.formats.onnx.importer import import_proto
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.dims.expressions import DimExpr, FloorDiv, MinMax
from xonnc.transforms.dims.fractions import LARGEST
from xonnc.transforms.dims.functions import returned
from xonnc.transforms.dims.symbol_names import NamedDimension
from xonnc.transforms.shape_inference_onnx import infer_shapes

NUMBERS = """c0 = Constant<value_float = 0.0>() c1 = Constant<value_float = 1.0>()
    c2 = Constant<value_float = 2.0>() c3 = Constant<value_float = 3.0>()
    half = Constant<value_float = 0.5>() tenth = Constant<value_float = 0.1>()
    back = Constant<value_float = -2.0>() tiny = Constant<value_float = 1e-30>()
    many = Constant<value_float = 20.0>() i0 = Constant<value_ints = [0]>() i1 = Constant<value_int = 1>()
    i7 = Constant<value_int = 7>() flat = Constant<value_ints = [-1]>()
    s = Shape(x) n = Squeeze(s, i0) f = Cast<to = 1>(n)"""

FOLLOWED = {
    "frames, as EnCodec counts them": """a = Add(n, i7) b = Cast<to = 1>(a) d = Div(b, c3) e = Add(d, c1)
        y = Ceil(e)""",
    "half of the pads to a multiple": """a = Div(f, c3) b = Ceil(a) d = Sub(b, c1) e = Mul(d, c3)
        g = Add(e, c3) h = Sub(g, f) k = Clip(h, c0) v = Unsqueeze(k, i0) y = Div(v, c2)""",
    "half in float64": "a = Cast<to = 11>(f) b = Cast<to = 11>(half) d = Mul(a, b) y = Floor(d)",
    "what may be negative": "a = Sub(f, many) b = Div(a, c3) d = Floor(b) e = Relu(d) y = Add(e, c1)",
    "between bounds": "a = Max(f, c3) b = Min(a, many) d = Clip(b, , many) y = Clip(d, c3, many)",
    "a sixth, rounded up": """a = Mul(f, half) b = Div(a, c3) d = Ceil(b) e = Reshape(d, flat)
        g = Concat<axis = 0>(e, e) h = Div(g, c2) k = Identity(h) y = Add(k, c1)""",
}
"""What is computed of the size n, or of its float f; a Cast makes y integers."""

NOT_FOLLOWED = {
    "a tenth that float32 does not have": "y = Mul(f, tenth)",
    "a product with a rounded quotient": "a = Div(f, c3) y = Mul(a, c3)",
    "a sum of rounded quotients": "a = Div(f, c3) b = Div(f, many) y = Add(a, b)",
    "a quotient of a rounded quotient": "a = Div(f, c3) y = Div(a, c3)",
    "a negative quotient": "a = Div(f, back) y = Add(a, many)",
    "a bound of a fraction": "a = Div(f, c2) y = Max(a, c3)",
    "numbers too small": "a = Mul(f, tiny) y = Ceil(a)",
    "a product too large": "a = Mul(f, many) y = Min(a, c3)",
    "the quotient of a size": "a = Div(c3, f) y = Ceil(a)",
    "infinity": "i = Constant<value_float = inf>() y = Min(f, i)",
    "another function": "y = Sqrt(f)",
}


def model(body: str, kind: int = 7, dims: str = "A") -> onnx.ModelProto:
    """A model of zeros, as many as y says."""
    return onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 20]> main (int8[N] x)
        => (float[{dims}] z) {{ {NUMBERS} {body} m = Cast<to = {kind}>(y) w = Cast<to = 7>(m)
        o = Reshape(w, flat) z = ConstantOfShape(o) }}""")


def evaluated(expr: DimExpr, analysis: DimAnalysis, size: int) -> int:
    """The value of an expression for a size of the input; a KeyError if it is not of that alone."""
    total = expr.constant
    for monomial, coefficient in expr.terms:
        for symbol in monomial:
            match analysis.symbols.key(symbol):
                case FloorDiv(inner, divisor):
                    coefficient *= evaluated(inner, analysis, size) // divisor
                case MinMax(is_min, bounds):
                    pick = min if is_min else max
                    coefficient *= pick(evaluated(bound, analysis, size) for bound in bounds)
                case ("size", BlockArgument(), 0) | NamedDimension():
                    coefficient *= size
                case other:
                    raise KeyError(other)
        total += coefficient
    return total


def analysed(proto: onnx.ModelProto) -> tuple[DimAnalysis, SSAValue]:
    made = import_proto(proto, new_context())
    infer_shapes(made)
    analysis = DimAnalysis(made, may_assume=True)
    function = next(op for op in made.ops if isinstance(op, FuncOp))
    return analysis, returned(function)[0]


def result_size(analysis: DimAnalysis, result: SSAValue) -> DimExpr:
    found = analysis.size(result, 0)
    assert found is not None
    return found


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_is_followed_is_what_floats_give(name: str) -> None:
    """Also near the largest size: each rounding errs most there."""
    proto = model(FOLLOWED[name], dims="A, B" if "Concat" in FOLLOWED[name] else "A")
    analysis, result = analysed(proto)
    sizes = analysis.sizes(result)
    del proto.graph.node[-1], proto.graph.output[:]
    proto.graph.output.append(onnx.helper.make_tensor_value_info("o", onnx.TensorProto.INT64, [None]))
    reference: Any = ReferenceEvaluator(proto)
    assert sizes is not None
    for size in (*range(1, 40), *range(LARGEST - 9, LARGEST + 1)):
        (expected,) = reference.run(None, {"x": np.zeros(size, np.int8)})
        assert [evaluated(each, analysis, size) for each in sizes] == expected.tolist(), size


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_what_may_round_otherwise_is_not_followed(name: str) -> None:
    analysis, result = analysed(model(NOT_FOLLOWED[name]))
    with pytest.raises(KeyError, match="element"):
        evaluated(result_size(analysis, result), analysis, 5)


def test_a_condition_is_no_rounded_fraction() -> None:
    """Half of 1 is true."""
    analysis, result = analysed(model("y = Mul(f, half)", kind=9))
    with pytest.raises(KeyError, match="element"):
        evaluated(result_size(analysis, result), analysis, 1)


def test_programs_check_that_sizes_are_small_enough() -> None:
    """A size beyond what float32 has is compiled for itself."""
    session = xonnc.compile(model("a = Sub(f, c1) b = Div(a, c2) y = Floor(b)"), cache=False)
    for size, count, programs in ((9, 4, 1), (2, 0, 1), (LARGEST + 3, LARGEST // 2 + 1, 2)):
        (found,) = session.run(None, {"x": np.zeros(size, np.int8)})
        assert (np.shape(np.asarray(found)), session.compiled) == ((count,), programs)
