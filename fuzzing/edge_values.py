"""
One node on edge values: NaN, infinities, signed zeros, out-of-range and empty operands.

Constant propagation and native code compute the same there. `CHOICES` lists the results where the ONNX
specification leaves them open; it is the table of `docs/edge-values.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

from xonnc.contexts import new_context
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.fuzzing.random_models import Array
from xonnc.native import compile_native
from xonnc.passes import run_pass

OPSET = 23

FILE_VERSION = 10
"""An IR version that all of these runtimes read."""

FOLDING = ("shape-inference-onnx", "constprop-onnx")
"""The passes that fold a node with constant operands."""


@dataclass(frozen=True)
class EdgeNode:
    """A node and the values of its inputs."""

    operator: str
    inputs: Sequence[Array | None]
    """`None` for omitted ones."""
    attributes: Mapping[str, object] = field(default_factory=dict[str, object])
    outputs: int = 1
    opset: int = OPSET
    constant: Sequence[int] = ()
    """Indices of the shape-determining inputs, which are initializers in native code too."""
    domain: str = ""

    def model(self, *, is_constant: bool) -> onnx.ModelProto:
        """The node alone in a model whose inputs are all constants, or fed but for those in `constant`."""
        given = {f"x{index}": array for index, array in enumerate(self.inputs) if array is not None}
        names = ["" if array is None else f"x{index}" for index, array in enumerate(self.inputs)]
        made = [f"y{index}" for index in range(self.outputs)]
        node = helper.make_node(self.operator, names, made, "node", domain=self.domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in self.attributes.items())
        fed = {} if is_constant else self.feeds
        graph = helper.make_graph(
            [node],
            "edge",
            [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                for name, array in fed.items()
            ],
            [onnx.ValueInfoProto(name=name) for name in made],
            [numpy_helper.from_array(array, name) for name, array in given.items() if name not in fed],
        )
        imports = [helper.make_opsetid("", OPSET if self.domain else self.opset)]
        if self.domain:
            imports.append(helper.make_opsetid(self.domain, self.opset))
        return helper.make_model(graph, opset_imports=imports, ir_version=FILE_VERSION)

    @property
    def feeds(self) -> dict[str, Array]:
        """Inputs of native code."""
        return {
            f"x{index}": array
            for index, array in enumerate(self.inputs)
            if array is not None and index not in self.constant
        }

    def folded(self) -> list[Array] | None:
        """The constant-folded outputs, or `None` if one does not fold to a tensor."""
        return folded(self.model(is_constant=True))

    def native(self) -> list[Array]:
        """The outputs of native code."""
        session = compile_native(self.model(is_constant=False), cache=False)
        return [np.asarray(value) for value in session.run(None, self.feeds)]


def folded(model: onnx.ModelProto) -> list[Array] | None:
    """The outputs of a model of constants, `None` if constant propagation leaves one that is no constant."""
    context = new_context()
    module = import_proto(model, context)
    for _ in range(2):
        for name in FOLDING:
            run_pass(name, context, module)
    made = export_proto(module).graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in made.initializer}
    for node in made.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            arrays[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    found = [arrays[port.name] for port in made.output if port.name in arrays]
    return found if len(found) == len(made.output) else None


def is_same(a: Array, b: Array) -> bool:
    """Whether two tensors are equal, signs of zeros included; all NaN bit patterns are equal."""
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype.kind in "biuO" or a.dtype.name.startswith(("int", "uint")):
        return bool(np.array_equal(a, b))
    x, y = a.astype(np.float64), b.astype(np.float64)
    numbers = ~(np.isnan(x) & np.isnan(y))
    return bool(np.all((x == y) | ~numbers) and np.all(np.signbit(x[numbers]) == np.signbit(y[numbers])))


@dataclass(frozen=True)
class ImplementationChoice:
    """A case that the ONNX specification leaves open, and the result chosen here."""

    text: str
    """The text of the specification."""
    case: str
    chosen: str
    node: EdgeNode
    expected: Sequence[Array]
    folds: bool = True
    """Whether constant propagation folds it."""


def _floats(*values: float) -> Array:
    return np.array(values, np.float32)


NAN, INF = float("nan"), float("inf")

OUT_OF_RANGE = _floats(NAN, INF, -INF, 3e9, -3e9, 300.5, -300.5, -1.5, -0.0)

UNDEFINED = "fixed point: undefined if OOR"


def _cast(
    to: type[np.generic], *expected: int, case: str = "NaN, ±inf, out of range"
) -> ImplementationChoice:
    code = helper.np_dtype_to_tensor_dtype(np.dtype(to))
    is_narrow = ml_dtypes.iinfo(to).bits < 8
    chosen = (
        "the low bits of the nearest integer of 32 bits; NaN is 0" if is_narrow else "the nearest; NaN is 0"
    )
    return ImplementationChoice(
        UNDEFINED,
        f"{case}, to {np.dtype(to).name}",
        chosen,
        EdgeNode("Cast", [OUT_OF_RANGE], {"to": code}),
        [np.array(expected, to)],
    )


CASTS = (
    _cast(np.int8, 0, 127, -128, 127, -128, 127, -128, -1, 0),
    _cast(np.uint8, 0, 255, 0, 255, 0, 255, 0, 0, 0),
    _cast(np.int16, 0, 32767, -32768, 32767, -32768, 300, -300, -1, 0),
    _cast(np.uint16, 0, 65535, 0, 65535, 0, 300, 0, 0, 0),
    _cast(np.int32, 0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 300, -300, -1, 0),
    _cast(np.uint32, 0, 2**32 - 1, 0, 3000000000, 0, 300, 0, 0, 0),
    _cast(np.int64, 0, 2**63 - 1, -(2**63), 3000000000, -3000000000, 300, -300, -1, 0),
    _cast(np.uint64, 0, 2**64 - 1, 0, 3000000000, 0, 300, 0, 0, 0),
    _cast(ml_dtypes.int4, 0, -1, 0, -1, 0, -4, 4, -1, 0),
    _cast(ml_dtypes.uint4, 0, 15, 0, 15, 0, 12, 4, 15, 0),
)

OTHERS = (
    ImplementationChoice(
        "the values will be casted to int64 before use",
        "indices that are fractions, NaN, out of range",
        "as Cast: towards 0, NaN is 0",
        EdgeNode(
            "OneHot",
            [_floats(0.5, -0.5, -1.9, NAN, 7), np.array(2, np.int64), np.array([0, 1], np.int32)],
            constant=[1],
        ),
        [np.array([[1, 0], [1, 0], [0, 1], [1, 0], [0, 0]], np.int32)],
    ),
    ImplementationChoice(
        "`pads[start_i] = total_padding[i]/2`, where `total_padding` may be negative",
        "output_shape larger than the windows reach",
        "nothing is cut off; zeros follow the last element",
        EdgeNode(
            "ConvTranspose",
            [_floats(1, 2).reshape(1, 1, 2), _floats(1, 1).reshape(1, 1, 2)],
            {"auto_pad": "SAME_UPPER", "strides": [2], "output_shape": [5]},
        ),
        [_floats(1, 1, 2, 2, 0).reshape(1, 1, 5)],
    ),
)

ZEROS = "does not specify the sign of zero"

EXTREMES = (
    ImplementationChoice(
        ZEROS,
        "0 and -0",
        "0 is larger than -0, as IEEE 754-2019 `maximum` has it; NaN stays",
        EdgeNode("Max", [_floats(0, -0.0, -0.0, NAN), _floats(-0.0, 0, -0.0, 1)]),
        [_floats(0, 0, -0.0, NAN)],
    ),
    ImplementationChoice(
        ZEROS,
        "0 and -0",
        "-0 is smaller than 0, as IEEE 754-2019 `minimum` has it; NaN stays",
        EdgeNode("Min", [_floats(0, -0.0, 0, NAN), _floats(-0.0, 0, 0, 1)]),
        [_floats(-0.0, -0.0, 0, NAN)],
    ),
    ImplementationChoice(
        "`max(0, x)`", "-0, NaN", "0, NaN", EdgeNode("Relu", [_floats(-0.0, NAN, -1)]), [_floats(0, NAN, 0)]
    ),
    ImplementationChoice(
        "bounds default to `numeric_limits::lowest()` and `numeric_limits::max()`",
        "±inf, NaN, without bounds",
        "the largest finite numbers; NaN stays",
        EdgeNode("Clip", [_floats(INF, -INF, NAN, -0.0)]),
        [_floats(3.4028234663852886e38, -3.4028234663852886e38, NAN, -0.0)],
    ),
    ImplementationChoice(
        "does not specify NaN",
        "NaN",
        "the first NaN is the largest, as for ArgMax",
        EdgeNode("Hardmax", [_floats(1, NAN, 5, NAN)]),
        [_floats(0, 1, 0, 0)],
    ),
    ImplementationChoice(
        "does not specify NaN",
        "NaN",
        "the first NaN is the largest",
        EdgeNode("ArgMax", [_floats(1, NAN, INF, NAN)], {"keepdims": 0}),
        [np.array(1, np.int64)],
    ),
)

AXES = np.array([0], np.int64)

SUMS = (
    ImplementationChoice(
        ZEROS,
        "-0 alone",
        "0: sums start from 0",
        EdgeNode("ReduceSum", [_floats(-0.0, -0.0), AXES], {"keepdims": 0}, constant=[1]),
        [np.array(0, np.float32)],
    ),
    ImplementationChoice(
        ZEROS,
        "-0 alone",
        "0: sums start from 0",
        EdgeNode("CumSum", [_floats(-0.0, -0.0, 1), np.array(0, np.int64)], constant=[1]),
        [_floats(0, 0, 1)],
    ),
    ImplementationChoice(
        "`log(sum(exp(x)))`",
        "±inf",
        "inf if one is, -inf if all are",
        EdgeNode(
            "ReduceLogSumExp", [_floats(INF, -INF, 1, -INF).reshape(2, 2)[:, ::-1], AXES + 1], constant=[1]
        ),
        [_floats(INF, 1).reshape(2, 1)],
    ),
    ImplementationChoice(
        "does not specify intermediate types",
        "integers",
        "root of squares in float64, towards 0; they do not wrap",
        EdgeNode("ReduceL2", [np.array([123456789, 3], np.int32), AXES], {"keepdims": 0}, constant=[1]),
        [np.array(123456789, np.int32)],
    ),
    ImplementationChoice(
        "`(maximum(0, max(x)) - minimum(0, min(x))) / 255`; does not specify `x / 0`",
        "zeros",
        "scale 0, zero point 0, all 0",
        EdgeNode("DynamicQuantizeLinear", [_floats(0, -0.0, 0)], outputs=3),
        [np.zeros(3, np.uint8), np.array(0, np.float32), np.array(0, np.uint8)],
    ),
    ImplementationChoice(
        "does not specify the maximum of no elements",
        "no elements",
        "as of zeros: scale 0, zero point 0",
        EdgeNode("DynamicQuantizeLinear", [_floats()], outputs=3),
        [np.zeros(0, np.uint8), np.array(0, np.float32), np.array(0, np.uint8)],
    ),
)

ROW = _floats(NAN, -0.0, -0.0, 1).reshape(1, 4)

SCATTERED = tuple(
    ImplementationChoice(
        ZEROS,
        f"0 and -0, NaN, {how}",
        chosen,
        EdgeNode(
            operator, [*operands, _floats(5, 0, -0.0, NAN).reshape(shape)], {"reduction": how}, constant=[1]
        ),
        [expected],
    )
    for how, chosen, expected in (
        ("max", "0 is larger than -0, as for Max; NaN stays", _floats(NAN, 0, -0.0, NAN)),
        ("min", "-0 is smaller than 0, as for Min; NaN stays", _floats(NAN, -0.0, -0.0, NAN)),
    )
    for operator, shape, operands, expected in (
        ("ScatterElements", (1, 4), (ROW, np.array([[0, 0, 0, 0]], np.int64)), expected.reshape(1, 4)),
        ("ScatterND", (1, 4), (ROW, np.array([[0]], np.int64)), expected.reshape(1, 4)),
    )
)

NAN_CASES = (
    ImplementationChoice(
        "does not specify NaN",
        "NaN",
        "the first, whether the largest or the smallest are asked for, as for ArgMax and ArgMin",
        EdgeNode(
            "TopK", [_floats(1, NAN, INF, -INF), np.array([2], np.int64)], {"largest": 0}, 2, constant=[1]
        ),
        [_floats(NAN, -INF), np.array([1, 3], np.int64)],
        folds=False,
    ),
    ImplementationChoice(
        "does not specify NaN",
        "the key NaN",
        "NaN finds it",
        EdgeNode(
            "LabelEncoder",
            [_floats(NAN, 1)],
            {"keys_floats": [NAN, 0.0], "values_floats": [2.0, 3.0], "default_float": 9.0},
            opset=4,
            domain="ai.onnx.ml",
        ),
        [_floats(2, 9)],
        folds=False,
    ),
    ImplementationChoice(
        "`saturate((x / y_scale) + y_zero_point)`; does not specify NaN",
        "NaN, ±inf",
        "NaN as -inf: the ends of the type",
        EdgeNode(
            "QuantizeLinear", [_floats(NAN, INF, -INF, 0.5), np.array(0.5, np.float32), np.array(3, np.int8)]
        ),
        [np.array([-128, 127, -128, 4], np.int8)],
        folds=False,
    ),
    ImplementationChoice(
        "-1 and 1 are the centers of the corner pixels, with `align_corners`",
        "an axis of one element",
        "-1, as the body of the operator has for the depth",
        EdgeNode(
            "AffineGrid",
            [_floats(1, 2, 0, 0, 4, 8).reshape(1, 2, 3), np.array([1, 1, 1, 1], np.int64)],
            {"align_corners": 1},
            constant=[1],
        ),
        [_floats(-3, 4).reshape(1, 1, 1, 2)],
        folds=False,
    ),
    ImplementationChoice(
        "`(maximum(0, max(x)) - minimum(0, min(x))) / 255`; does not specify `inf / inf`",
        "NaN, or inf",
        "scale NaN, or inf; zero point and all elements 0",
        EdgeNode("DynamicQuantizeLinear", [_floats(INF, -2, 1)], outputs=3),
        [np.zeros(3, np.uint8), np.array(INF, np.float32), np.array(0, np.uint8)],
    ),
    ImplementationChoice(
        "`X / max(X)` for MAX; does not specify NaN",
        "NaN, MAX",
        "NaN is passed over",
        EdgeNode(
            "Normalizer", [_floats(NAN, 1, 2).reshape(1, 3)], {"norm": "MAX"}, opset=4, domain="ai.onnx.ml"
        ),
        [_floats(NAN, 0.5, 1).reshape(1, 3)],
        folds=False,
    ),
    ImplementationChoice(
        "sums of products",
        "NaN, ±inf, a real signal",
        "the parts of a frequency that are 0 for finite numbers are NaN, too",
        EdgeNode("DFT", [_floats(NAN, 1).reshape(1, 2, 1), None, np.array(1, np.int64)], constant=[2]),
        [np.full((1, 2, 2), NAN, np.float32)],
        folds=False,
    ),
    ImplementationChoice(
        "does not specify an infinite element with weight 0",
        "inf beside a weight of 0",
        "the other element: elements with weight 0 are not read",
        EdgeNode(
            "Resize",
            [_floats(INF, 1).reshape(1, 1, 2), None, _floats(1, 1, 2)],
            {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
            constant=[2],
        ),
        [_floats(INF, INF, 1, 1).reshape(1, 1, 4)],
        folds=False,
    ),
)

CHOICES = (*CASTS, *OTHERS, *EXTREMES, *SUMS, *SCATTERED, *NAN_CASES)

PAGE = """# Edge values

For whoever compares results of runtimes: what operators give for NaN, infinities, signed zeros, values out of
range and empty tensors. Written by `python bench/edge_values.py --write docs/edge-values.md` from
`fuzzing/edge_values.py`.

Where ONNX specifies the result, constant propagation, native code and C source give it. Where its text leaves
a choice, all three give the result in this table, and its tests compute each row with each of them. Other
runtimes choose differently in some rows.

ONNX specifies neither rounding nor the order of summation. Trigonometric and hyperbolic functions of float32
and their inverses are computed in float64 and rounded once, equally in all three. `Exp`, `Log`, `Tanh`, `Erf`
and functions composed of them may differ between folding and code in the last bits; sums may differ by their
order of terms: in rounding, in the sign of a zero, or in whether they overflow. Of zeros of both signs a
reduction or a pooling may give either as its extreme.

| operator | case | ONNX says | what is computed |
|---|---|---|---|
{rows}
"""


def page(choices: Sequence[ImplementationChoice] = CHOICES) -> str:
    """The table of choices, in Markdown."""
    rows = [
        f"| {each.node.operator} | {each.case} | {each.text} | {each.chosen} |"
        for each in sorted(choices, key=lambda each: each.node.operator)
    ]
    return PAGE.format(rows="\n".join(rows))
