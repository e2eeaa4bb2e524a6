"""The interpreter of kernels against the reference, at each stage that it takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from onnx import ModelProto, parser
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp

from xonnc.contexts import new_context
from xonnc.dialects.krnl.attributes import OFFSETS, set_locations
from xonnc.dialects.krnl.tiles import ConvOp
from xonnc.native_compilation import CompileOptions, lower_to_program, prepare_for_lowering, resolve_processor
from xonnc.runtime.verification.comparison import compare_values
from xonnc.runtime.verification.krnl_interpreter import interpret
from xonnc.runtime.verification.scalar_evaluation import NotInterpretedError
from xonnc.simplifier import simplify
from xonnc.verification_models import open_proto

STAGES = ("krnl", "prepacked", "parallel", "shared", "planned")

NUMBERS = ",".join(str(i % 7 * 0.3 - 1) for i in range(288))
CONSTANTS = f"""<int64 axis = {{1}}, int64[1] one = {{1}}, int64[1] three = {{3}}, int64[1] all = {{-1}},
    int64[2] rows = {{2, 0}}, float[4, 5] w = {{{",".join(str(i * 0.3 - 2) for i in range(20))}}},
    float scale = {{0.1}}, uint8 zero = {{3}}, int64[4] pads = {{1, 0, 0, 1}},
    int64[4] image = {{1, 1, 3, 4}},
    float[32, 1, 3, 3] filters = {{{NUMBERS}}}, float[3, 1, 2, 2] few = {{1,2,3,4,5,6,7,8,9,10,11,12}},
    float[4] gain = {{1, 2, 3, 4}}, float[4] sizes = {{1, 1, 2, 2}}>"""

BODIES = (
    "y = Softmax <axis = 1> (x)",
    "y = Transpose <perm = [1, 0]> (x)",
    "y = ReduceMean (x, one)",
    "y = Concat <axis = 0> (x, x)",
    "y = CumSum (x, axis)",
    "y = ArgMax (x)",
    "y = Cast <to = 7> (x)",
    "y = Cast <to = 10> (x)",
    "y = Mod <fmod = 1> (x, x)",
    "a = Abs (x) y = Pow (a, x)",
    "y = Gather (x, rows)",
    "y = Gelu (x)",
    "y = MatMul (x, w)",
    "a = MatMul (x, w) y = Relu (a)",
    "y = Gemm <transB = 1> (x, x)",
    "y = QuantizeLinear (x, scale, zero)",
    "q = QuantizeLinear (x, scale, zero) y = DequantizeLinear (q, scale, zero)",
    "y = Pad (x, pads)",
    "y = Slice (x, one, three)",
    "y = Trilu (x)",
    "n = Neg (x) y = Where (p, x, n)",
    "r = Reshape (x, image) y = Conv (r, few)",
    "r = Reshape (x, image) y = MaxPool <kernel_shape = [2, 2]> (r)",
    "a = Relu (x) y = LayerNormalization (a, gain)",
    "r = Reshape (x, image) y = Resize (r, , sizes)",
    "y = Round (x)",
    "y = IsNaN (x)",
)

FEEDS = {
    "x": np.array([[0.5, -1.5, 2.25, 0.0], [-0.25, 3.0, -2.0, 1.0], [1.75, 0.125, -3.5, 2.5]], np.float32),
    "p": np.array([[True, False, True, True]] * 3),
}


def model(body: str, inputs: str = "float[3, 4] x, bool[3, 4] p") -> ModelProto:
    header = '<ir_version: 8, opset_import: ["" : 20]>'
    return parser.parse_model(f"{header} m ({inputs}) => (y) {CONSTANTS} {{ {body} }}")


def stages(made: ModelProto, disabled: Sequence[str] = ()) -> dict[str, ModuleOp]:
    options, context = CompileOptions(resolve_processor("cpu"), disable_pass=disabled), new_context()
    found: dict[str, ModuleOp] = {}
    module = simplify(made, inline_functions=True, disable_pass=disabled).module
    prepare_for_lowering(module, context, options.passes)
    options.attach(module)

    def record(stage: str, at: ModuleOp) -> None:
        if stage in STAGES:
            found[stage] = at.clone()

    lower_to_program(module, options, context, record)
    return found


@pytest.mark.parametrize("body", BODIES)
def test_each_stage_gives_the_outputs_of_the_reference(body: str):
    made = model(body)
    (expected,) = open_proto(made).run(FEEDS)
    for stage, module in stages(made, ("assign-layout",)).items():
        (found,) = interpret(module, FEEDS, list(FEEDS))
        compared = compare_values(expected, found)
        assert compared.passed, (stage, compared)


ATTENTION = """
  <ir_version: 11, opset_import: ["" : 25]>
  m (float[1, 2, 3, 4] q, float[1, 2, 9, 4] k, float[1, 2, 9, 4] v, int64[1] n) => (y) {
    y = Attention <is_causal = 1> (q, k, v, , , , n)
  }
"""


@pytest.mark.parametrize("queries", [3, 11])
def test_products_of_dynamic_sizes_and_of_a_transposed_matrix(queries: int):
    made = parser.parse_model(ATTENTION.replace("2, 3, 4", f"2, {queries}, 4"))
    feeds = {name: np.sin(np.arange(72, dtype=np.float32)).reshape(1, 2, 9, 4) for name in ("k", "v")}
    feeds["q"] = np.cos(np.arange(8 * queries, dtype=np.float32)).reshape(1, 2, queries, 4)
    feeds["n"] = np.array([8])
    (expected,) = open_proto(made).run(feeds)
    for stage, module in stages(made).items():
        (found,) = interpret(module, feeds, ["q", "k", "v", "n"])
        compared = compare_values(expected, found)
        assert compared.passed, (stage, compared)


IMAGE = np.linspace(-2, 3, 2 * 32 * 3 * 5, dtype=np.float32).reshape(2, 32, 3, 5)


@pytest.mark.parametrize(
    "body",
    [
        "y = Conv <pads = [1, 1, 1, 1]> (x, square)",
        "y = Conv <strides = [2, 1], pads = [0, 1, 2, 0], dilations = [1, 2]> (x, square)",
        "a = Conv <pads = [1, 1, 1, 1]> (x, square, bias) b = Add (a, x) y = Relu (b)",
        "a = Conv <pads = [1, 1, 1, 1]> (x, square) b = Conv <pads = [1, 1, 1, 1]> (a, square) y = Erf (b)",
        "y = Conv <pads = [1, 1, 1, 1], group = 32> (x, deep, bias)",
        "f = Slice (x, zero, three, one) y = Conv <pads = [1, 1, 1, 1]> (f, narrow)",
        "y = ConvTranspose <strides = [2, 2]> (x, square)",
        "v = Reshape (x, volumes) y = Conv <strides = [2, 1, 1], pads = [1, 0, 0, 1, 0, 1]> (v, solid)",
    ],
)
def test_convolutions_channel_blocked(body: str):
    shapes = {
        "square": (32, 32, 3, 3),
        "deep": (32, 1, 3, 3),
        "narrow": (20, 3, 3, 3),
        "bias": (32,),
        "solid": (9, 16, 2, 1, 3),
    }
    constants = [
        "int64[1] zero = {0}",
        "int64[1] one = {1}",
        "int64[1] three = {3}",
        "int64[5] volumes = {2, 16, 3, 2, 5}",
    ]
    for name, shape in shapes.items():
        values = ",".join(str(each % 13 * 0.02 - 0.1) for each in range(int(np.prod(shape))))
        constants.append(f"float[{','.join(map(str, shape))}] {name} = {{{values}}}")
    header = '<ir_version: 8, opset_import: ["" : 20]> m (float[2, 32, 3, 5] x) => (y)'
    made = parser.parse_model(f"{header} <{', '.join(constants)}> {{ {body} }}")
    (expected,) = open_proto(made).run({"x": IMAGE})
    found = stages(made)
    assert any(isinstance(op, ConvOp) for op in found["krnl"].walk())
    for stage, module in found.items():
        (interpreted,) = interpret(module, {"x": IMAGE}, ["x"], seconds=60)
        compared = compare_values(expected, interpreted)
        assert compared.passed, (stage, compared)


def test_special_values():
    feeds = FEEDS | {"x": np.array([[np.nan, np.inf, -np.inf, -0.0]] * 3, np.float32)}
    made = model("a = Relu (x) b = Floor (a) c = Less (b, x) d = Cast <to = 1> (c) y = Add (d, b)")
    (expected,) = open_proto(made).run(feeds)
    (found,) = interpret(stages(made)["planned"], feeds, list(feeds))
    np.testing.assert_array_equal(found, expected)


def test_an_empty_tensor():
    made = model("y = Exp (x)", "float[0, 4] x")
    (found,) = interpret(stages(made)["planned"], {"x": np.zeros((0, 4), np.float32)}, ["x"])
    assert found.shape == (0, 4)


def test_values_overwrite_each_other_as_planned():
    made = model("a = Exp (x) b = Softmax <axis = 1> (a) c = Softmax <axis = 0> (b) y = Add (c, a)")
    module = stages(made, ("fuse-onnx", "assign-layout"))["planned"]
    (right,) = interpret(module, FEEDS, list(FEEDS))
    for op in module.walk():
        if isinstance(op, memref.AllocOp) and OFFSETS in op.attributes:
            set_locations(op, OFFSETS, [0])
    (found,) = interpret(module, FEEDS, list(FEEDS))
    assert not np.allclose(found, right)


@pytest.mark.parametrize(
    ("body", "inputs", "reason"),
    [
        ("y = Exp (x)", "float[n, 4] x", r"tensor\.dim"),
        ("y = RandomNormalLike (x)", "float[3, 4] x", r"krnl\.seed"),
    ],
)
def test_what_cannot_be_interpreted(body: str, inputs: str, reason: str):
    module = stages(model(body, inputs))["krnl"]
    with pytest.raises(NotInterpretedError, match=reason):
        interpret(module, {"x": FEEDS["x"]}, ["x"])


def test_the_time_is_limited():
    module = stages(model("y = Exp (x)"))["krnl"]
    with pytest.raises(NotInterpretedError, match="interpretation takes too long"):
        interpret(module, FEEDS, list(FEEDS), seconds=0)
