"""One valid use of each op, as text: for the round-trip tests, and for the examples in docstrings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32

from xonnc.dialects.onnx.assembly.newer import NEWER_PROPERTIES
from xonnc.dialects.onnx.assembly.numbers import float_format, float_text
from xonnc.tools.onnx_dialect.schemas import FormalParameter, SchemaAttribute
from xonnc.tools.onnx_dialect.versions import OpClass

_PREFERRED = ("f32", "i64", "i32", "ui8", "i1", "string", "i8", "seq<f32>", "opt<f32>", "map<i64, f32>")
_TEXT_TYPES = {"string": "!onnx.String"}

SHAPES: Mapping[str, str] = {
    "Add": "4x1 3 -> 4x3",
    "ArgMax": "4x3 -> 1x3",
    "AveragePool": "1x3x8x8 -> 1x3x7x7",
    "BatchNormalization": "1x3x8x8 3 3 3 3 -> 1x3x8x8 none none",
    "BatchNormalizationV9": "1x3x8x8 3 3 3 3 -> 1x3x8x8 none none none none",
    "Clip": "2x3 scalar scalar -> 2x3",
    "Concat": "2x3,4x3 -> 6x3",
    "Conv": "1x3x8x8 4x3x3x3 none -> 1x4x6x6",
    "ConvTranspose": "1x3x8x8 3x4x3x3 none -> 1x4x10x10",
    "DepthToSpace": "1x8x2x3 -> 1x2x4x6",
    "Expand": "3x1 2 -> ?x?",
    "Flatten": "2x3x4 -> 2x12",
    "Gather": "5x3 2 -> 2x3",
    "Gemm": "2x3 3x4 4 -> 2x4",
    "GlobalAveragePool": "1x3x8x8 -> 1x3x1x1",
    "Identity": "2x3 -> 2x3",
    "InstanceNormalization": "1x3x8x8 3 3 -> 1x3x8x8",
    "LayerNormalization": "2x3x4 4 4 -> 2x3x4 2x3x1 none",
    "LSTM": "5x1x3 1x16x3 1x16x4 none none none none none -> 5x1x1x4 none none",
    "Loop": "none none * -> *,*",
    "MatMul": "2x3 3x4 -> 2x4",
    "Max": "4x1,3 -> 4x3",
    "MaxPool": "1x3x8x8 -> 1x3x7x7 none",
    "OneHot": "2 scalar 2 -> 2x?",
    "PRelu": "4x3 3 -> 4x3",
    "Pad": "2x3 4 scalar none -> ?x?",
    "ReduceMean": "4x3 1 -> ?x?",
    "Relu": "2x3 -> 2x3",
    "Reshape": "2x6 2 -> ?x?",
    "Scan": "*,* -> *,*",
    "ScanV8": "none *,* -> *,*",
    "SequenceMap": "* * -> *",
    "Shape": "2x? -> 2",
    "Slice": "5x3 2 2 none none -> ?x?",
    "Softmax": "2x3 -> 2x3",
    "SpaceToDepth": "1x2x4x6 -> 1x8x2x3",
    "Split": "4x3 2 -> ?x3,?x3",
    "Squeeze": "1x3 1 -> 3",
    "Sub": "4x3 scalar -> 4x3",
    "Tile": "2x3 2 -> ?x?",
    "TopK": "4x8 1 -> 4x? 4x?",
    "Transpose": "2x3 -> 3x2",
    "Resize": "1x1x2x2 none 4 none -> 1x1x4x4",
    "ResizeV13": "1x1x2x2 none 4 none -> 1x1x4x4",
    "ResizeV18": "1x1x2x2 none 4 none -> 1x1x4x4",
    "Unsqueeze": "3 1 -> 1x3",
    "Where": "2x3 2x3 scalar -> 2x3",
}
"""Shapes of operands and results in order, those of one variadic with commas between; unlisted: unranked."""

ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "AveragePool": {"kernel_shape": "[2, 2]"},
    "BitCast": {"to": "1 : si64"},
    "BitShift": {"direction": '"LEFT"'},
    "CastV1": {"to": '"FLOAT"'},
    "CategoryMapper": {"cats_int64s": "[1]", "cats_strings": '["a"]'},
    "Cast": {"to": "f32"},
    "Concat": {"axis": "0 : si64"},
    "DictVectorizer": {"int64_vocabulary": "[1, 2]"},
    "Einsum": {"equation": '"ij->ji"'},
    "Multinomial": {"dtype": "7 : si64"},
    "Optional": {"type": "tensor<*xf32>"},
    "LinearAttention": {"update_rule": '"linear"'},
    "OneHotEncoder": {"cats_int64s": "[1, 2]"},
    "Scan": {"num_scan_inputs": "1 : si64"},
    "TfIdfVectorizer": {"mode": '"TF"', "pool_int64s": "[1, 2]"},
    "Momentum": {"mode": '"standard"'},
    "Transpose": {"perm": "[1, 0]"},
    "TreeEnsembleClassifier": {"classlabels_int64s": "[1, 2]"},
    "UnsqueezeV11": {"axes": "[0]"},
    "ZipMap": {"classlabels_int64s": "[1, 2]"},
}
"""Properties whose value cannot be any of their kind, or that are worth showing."""

REGIONS: Mapping[str, tuple[str, ...]] = {
    "If": ("  %t = TENSOR\n  onnx.Yield %t : tensor<f32>",) * 2,
    "Loop": (
        "^bb0(%i: tensor<i64>, %going: tensor<i1>, %state: tensor<*xf32>):\n"
        "  onnx.Yield %going, %state, %state : tensor<i1>, tensor<*xf32>, tensor<*xf32>",
    ),
    "Scan": (
        "^bb0(%state: tensor<*xf32>, %slice: tensor<*xf32>):\n"
        "  onnx.Yield %state, %slice : tensor<*xf32>, tensor<*xf32>",
    ),
    "SequenceMap": (
        "^bb0(%element: tensor<*xf32>, %other: tensor<*xf32>):\n  onnx.Yield %element : tensor<*xf32>",
    ),
}
"""The bodies of ops with regions."""

_DEFAULTS = {
    "INT": "1 : si64",
    "FLOAT": "1.000000e+00 : f32",
    "STRING": '"text"',
    "INTS": "[1, 1]",
    "FLOATS": "[1.000000e+00 : f32]",
    "STRINGS": '["text"]',
    "TENSOR": "dense<1> : tensor<1xi64>",
    "SPARSE_TENSOR": "sparse<0, 1> : tensor<1xi64>",
    "TYPE_PROTO": "tensor<f32>",
}


@dataclass(frozen=True)
class OpSample:
    """One use of an op."""

    op: str
    """The op's full name."""
    operands: tuple[str, ...]
    """The types of its operands."""
    results: tuple[str, ...]
    given: Mapping[str, str]
    """The properties written, by name."""
    properties: Mapping[str, str]
    """The properties it has then, defaults included."""
    regions: tuple[str, ...]

    @property
    def written(self) -> Mapping[str, str]:
        """The properties that are printed."""
        newer = set(NEWER_PROPERTIES.get(self.op, ())) - self.given.keys()
        return {name: text for name, text in self.properties.items() if name not in newer}


def sample(op_class: OpClass) -> OpSample:
    """A valid use of the op."""
    operator = op_class.operator
    types = _element_types(op_class)
    shapes = _shapes(op_class)
    operands = [type_ for value in operator.inputs for type_ in _types(value, types, shapes)]
    results = [type_ for value in operator.outputs for type_ in _types(value, types, shapes)]
    written = ATTRIBUTES.get(op_class.name, ATTRIBUTES.get(operator.name, {}))
    given = {
        attribute.name: written.get(attribute.name, _DEFAULTS[attribute.kind])
        for attribute in operator.properties
        if attribute.is_required or attribute.name in written
    }
    defaults = {
        attribute.name: _default(attribute)
        for attribute in operator.properties
        if attribute.default is not None
    }
    regions = REGIONS.get(operator.name, ("",) * len(operator.regions))
    return OpSample(
        f"onnx.{op_class.name}",
        tuple(operands),
        tuple(results),
        given,
        dict(sorted((defaults | given).items())),
        regions,
    )


def _element_types(op_class: OpClass) -> dict[str, str]:
    """A kind for each type parameter, the commonest it may have."""
    found: dict[str, str] = {}
    for value in op_class.operator.values:
        key = value.variable or value.field
        first = [word for word in _PREFERRED if word in value.words]
        found.setdefault(key, (first or sorted(value.words))[0])
    return found


def _shapes(op_class: OpClass) -> Iterator[str]:
    """Shapes of the values in order, without end."""
    text = SHAPES.get(
        op_class.name, "" if op_class.until is not None else SHAPES.get(op_class.operator.name, "")
    )
    yield from (shape for shape in text.split() if shape != "->")
    while True:
        yield ""


def _types(value: FormalParameter, kinds: Mapping[str, str], shapes: Iterator[str]) -> Iterator[str]:
    kind, shape = kinds[value.variable or value.field], next(shapes)
    if value.is_optional and shape in ("", "none"):
        yield "none"
    elif value.is_variadic:
        for each in shape.split(",") if shape else ("",) * max(value.least, 1):
            yield type_text(kind, each)
    else:
        yield type_text(kind, shape)


def type_text(kind: str, shape: str = "") -> str:
    """A type as MLIR writes it: of a kind such as `f32` or `seq<f32>`, unranked without a shape."""
    head, _, inner = kind.partition("<")
    if head in ("seq", "opt"):
        return f"!onnx.{head.capitalize()}<{type_text(inner[:-1], shape)}>"
    if head == "map":
        key, element = inner[:-1].split(", ")
        return f"!onnx.Map<{_TEXT_TYPES.get(key, key)}, {_TEXT_TYPES.get(element, element)}>"
    element = _TEXT_TYPES.get(kind, kind)
    return f"tensor<{element}>" if shape == "scalar" else f"tensor<{shape or '*'}x{element}>"


def _default(attribute: SchemaAttribute) -> str:
    values = attribute.default if isinstance(attribute.default, tuple) else (attribute.default,)
    texts = ", ".join(_literal(value, attribute.kind) for value in values)
    return f"[{texts}]" if isinstance(attribute.default, tuple) else texts


def _literal(value: float | str | None, kind: str) -> str:
    format_ = float_format(f32)
    if isinstance(value, float) and format_ is not None:
        return f"{float_text(value, format_)} : f32"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value} : si64" if kind == "INT" else str(value)


def dictionary(properties: Mapping[str, str]) -> str:
    """Properties as MLIR writes them, after a space; nothing if there are none."""
    if not properties:
        return ""
    return f" <{{{', '.join(f'{name} = {text}' for name, text in properties.items())}}}>"


def result_list(results: Sequence[str]) -> str:
    """The types of results, in brackets unless there is one."""
    return results[0] if len(results) == 1 else f"({', '.join(results)})"
