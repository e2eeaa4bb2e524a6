"""
A random model under construction: every value has a type, a shape and, where it is constant, elements.

Shapes are static during construction, so that each node gets valid operands; which dimensions of the finished
model are dynamic is decided at the end. Operators take the form that the model's opset defines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TypeProto, helper, numpy_helper

Array = npt.NDArray[Any]
DType = np.dtype[Any]
Shape = tuple[int, ...]
Attribute = int | float | str | Sequence[int] | Sequence[float] | onnx.GraphProto | onnx.TensorProto | None

F32, F64, F16 = (np.dtype(kind) for kind in (np.float32, np.float64, np.float16))
I64, I32, I16, I8 = (np.dtype(kind) for kind in (np.int64, np.int32, np.int16, np.int8))
U64, U32, U16, U8 = (np.dtype(kind) for kind in (np.uint64, np.uint32, np.uint16, np.uint8))
BOOL = np.dtype(np.bool_)

FLOATS = (F32, F32, F32, F32, F64, F16)
"""Float types, repeated by their sampling weight."""

INTEGERS = (I64, I64, I32, I32, I8, U8, I16, U16, U32, U64)
NUMBERS = (*FLOATS, *FLOATS, *INTEGERS)

SIZES = (1, 2, 2, 3, 3, 4, 5)
"""Dimension sizes, repeated by their sampling weight."""

MAX_ELEMENTS = 20_000
"""Most elements of a value, so that a thousand models run in minutes."""

MAX_KNOWN_ELEMENTS = 64
"""Constants of up to so many elements are passed to shape inference."""

KEEPS_BOUNDS = frozenset(
    """Abs Add BatchNormalization Ceil Clip Concat Conv DepthToSpace Dropout Elu Expand Flatten Floor Gather
    GatherElements GatherND Gemm Identity LeakyRelu MatMul Max MaxPool AveragePool GlobalAveragePool Min Mul
    Neg Pad Relu Reshape Round Sigmoid Sign Slice Softmax SpaceToDepth Split Squeeze Sub Sum Tanh Tile
    Transpose Trilu Unsqueeze Where""".split()
)
"""Operators with finite results, not far larger than their finite operands."""


class NotApplicable(Exception):
    """A motif that does not apply: a type not in this opset, no suitable operand, too large."""


@dataclass(frozen=True)
class ModelValue:
    """A value of a model under construction."""

    name: str
    dtype: DType
    shape: Shape
    data: Array | None = None
    """Its elements if they do not depend on the model's inputs."""
    is_bounded: bool = False
    """Whether it is finite and small enough to be cast to an integer."""
    is_sequence: bool = False

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def type_text(self) -> str:
        """The type as operator schemas spell it."""
        text = f"tensor({SPELLINGS.get(self.dtype.name, self.dtype.name)})"
        return f"seq({text})" if self.is_sequence else text

    def type_proto(self, shape: Sequence[int | str | None] | None = None) -> TypeProto:
        """The type as a message, with another shape if one is given."""
        data_type = helper.np_dtype_to_tensor_dtype(self.dtype)
        tensor = helper.make_tensor_type_proto(data_type, self.shape if shape is None else shape)
        return helper.make_sequence_type_proto(tensor) if self.is_sequence else tensor


SPELLINGS = {
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e5m2": "float8e5m2",
}
"""Element types as operator schemas spell them, where numpy has another name."""


@dataclass(frozen=True)
class Input:
    """An input of the model and the range of its elements."""

    value: ModelValue
    low: float
    high: float
    is_fixed: bool = False
    """Whether its shape stays static."""


@dataclass
class BuilderState:
    """State shared by the main graph and its subgraphs."""

    names: Callable[[str], str]
    inputs: list[Input] = field(default_factory=list[Input])
    functions: list[onnx.FunctionProto] = field(default_factory=list[onnx.FunctionProto])
    allows_nonfinite: bool = False
    """Whether inputs and constants may be infinite or NaN."""
    allows_empty: bool = False
    """Whether inputs may have dimensions of size 0."""


class ModelBuilder:
    """A graph under construction: the model's own, or the body of a control-flow operator."""

    def __init__(self, random: Random, opset: int, shared: BuilderState, outer: ModelBuilder | None = None):
        self.random = random
        self.opset = opset
        self.shared = shared
        self.outer = outer
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.values: list[ModelValue] = []
        """Values that later motifs may read."""
        self.numpy = np.random.default_rng(random.getrandbits(32))

    def name(self, kind: str) -> str:
        """A name unique in the model."""
        return self.shared.names(kind)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def body(self) -> ModelBuilder:
        """A builder of a subgraph, which may capture the values of this one."""
        return ModelBuilder(self.random, self.opset, self.shared, self)

    def attempt(self, motif: Callable[[ModelBuilder], None]) -> bool:
        """Add a motif; if it does not apply, the graph stays unchanged."""
        lengths = len(self.nodes), len(self.initializers), len(self.values), len(self.shared.inputs)
        try:
            motif(self)
        except NotApplicable:
            lists = (self.nodes, self.initializers, self.values, self.shared.inputs)
            for items, length in zip(lists, lengths, strict=True):
                del items[length:]
            return False
        return True

    def input(
        self,
        dtype: DType,
        shape: Shape,
        low: float | None = None,
        high: float | None = None,
        is_fixed: bool = False,
    ) -> ModelValue:
        """Add an input of the model with elements between `low` and `high`."""
        if dtype.kind in "iu" and low is None:
            limits = np.iinfo(dtype)
            low, high = max(-100, limits.min), min(100, limits.max)
        bounded = dtype.kind != "f" or low is not None or not self.shared.allows_nonfinite
        value = ModelValue(self.name("x"), dtype, shape, is_bounded=bounded)
        ends = (-np.inf if low is None else low, np.inf if high is None else high)
        self.shared.inputs.append(Input(value, *ends, is_fixed))
        return value

    def constant(self, array: Array) -> ModelValue:
        """Add a constant: an initializer, or a Constant node with any of its attributes."""
        bounded = array.dtype.kind not in "fV" or bool(np.isfinite(array.astype(np.float32)).all())
        value = ModelValue(self.name("c"), array.dtype, array.shape, array, bounded)
        tensor = numpy_helper.from_array(array, value.name)
        if self.chance(0.6):
            self.initializers.append(tensor)
            return value
        form: Mapping[str, Attribute] = {"value": tensor}
        if self.opset >= 12 and self.chance(0.5):
            form = self._plain_form(array) or form
        self.nodes.append(self._node("Constant", (), [value.name], "", form))
        return value

    @staticmethod
    def _plain_form(array: Array) -> Mapping[str, Attribute]:
        """The scalar or list attribute of a Constant node, if the array can be one."""
        name = {F32: "value_float", I64: "value_int"}.get(array.dtype)
        if name is None or array.ndim > 1 or array.size == 0:
            return {}
        return {name: array.item()} if array.ndim == 0 else {f"{name}s": array.tolist()}

    def int64s(self, *numbers: int) -> ModelValue:
        """An int64 constant vector, e.g. of sizes or axes."""
        return self.constant(np.array(numbers, np.int64))

    def node(
        self,
        op_type: str,
        *operands: ModelValue | None,
        results: Sequence[ModelValue] | None = None,
        domain: str = "",
        given: Mapping[str, Attribute] | None = None,
        **attributes: Attribute,
    ) -> ModelValue:
        """Add a node with one result."""
        return self.node_with_outputs(
            op_type, *operands, results=results, domain=domain, given={**(given or {}), **attributes}
        )[0]

    def node_with_outputs(
        self,
        op_type: str,
        *operands: ModelValue | None,
        count: int = 1,
        results: Sequence[ModelValue] | None = None,
        domain: str = "",
        given: Mapping[str, Attribute] | None = None,
        **attributes: Attribute,
    ) -> list[ModelValue]:
        """
        Add a node with `count` results, or `results` if shape inference does not determine their types.

        Attributes that are `None` are left out; those with computed names are in `given`.
        Raises `NotApplicable` if the opset has no such operator for these operands, or if a result is too
        large.
        """
        attributes = {**(given or {}), **attributes}
        if results is not None:
            if not domain:
                _check_types(self._schema(op_type), operands)
            made = [replace(result, name=self.name("v")) for result in results]
            node = self._node(op_type, operands, [one.name for one in made], domain, attributes)
        else:
            names = [self.name("v") for _ in range(count)]
            node = self._node(op_type, operands, names, domain, attributes)
            made = self._inferred(node, operands)
        if any(one.size > MAX_ELEMENTS for one in made):
            raise NotApplicable
        self.nodes.append(node)
        bounded = op_type in KEEPS_BOUNDS and all(one is None or one.is_bounded for one in operands)
        return [replace(one, is_bounded=bounded or one.is_bounded or one.dtype.kind in "biu") for one in made]

    def _node(
        self,
        op_type: str,
        operands: Sequence[ModelValue | None],
        results: Sequence[str],
        domain: str,
        attributes: Mapping[str, Attribute],
    ) -> onnx.NodeProto:
        names = ["" if operand is None else operand.name for operand in operands]
        while names and not names[-1]:
            names.pop()
        label = self.name(op_type) if self.chance(0.7) else ""
        node = helper.make_node(op_type, names, results, name=label, domain=domain)
        node.attribute.extend(
            helper.make_attribute(key, value) for key, value in attributes.items() if value is not None
        )
        return node

    def _schema(self, op_type: str) -> onnx.defs.OpSchema:
        try:
            schema = onnx.defs.get_schema(op_type, self.opset)
        except onnx.defs.SchemaError:
            raise NotApplicable from None
        if schema.deprecated:
            raise NotApplicable
        return schema

    def _inferred(self, node: onnx.NodeProto, operands: Sequence[ModelValue | None]) -> list[ModelValue]:
        schema = self._schema(node.op_type)
        _check_types(schema, operands)
        types = {one.name: one.type_proto() for one in operands if one is not None}
        data = {
            one.name: numpy_helper.from_array(one.data, one.name)
            for one in operands
            if one is not None and one.data is not None and one.data.size <= MAX_KNOWN_ELEMENTS
        }
        imports = [helper.make_opsetid("", self.opset)]
        try:
            found = onnx.shape_inference.infer_node_outputs(
                schema, node, types, data, opset_imports=imports, ir_version=8
            )
        except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
            raise NotApplicable from None
        return [_value(name, found.get(name)) for name in node.output]

    def keep(self, *values: ModelValue) -> None:
        """Let later motifs read the values."""
        self.values.extend(values)

    def readable(self) -> list[ModelValue]:
        """Values that may be read here, captured ones included."""
        return [*self.values, *(self.outer.readable() if self.outer is not None else ())]

    def take(
        self, dtypes: Sequence[DType] = FLOATS, ranks: Sequence[int] = (0, 1, 2, 3, 4), bounded: bool = False
    ) -> ModelValue:
        """A value of one of the types and ranks: an existing one, or sometimes a new input."""
        fitting = [
            value
            for value in self.readable()
            if value.dtype in dtypes and value.rank in ranks and (value.is_bounded or not bounded)
        ]
        if fitting and self.chance(0.8):
            # Prefer recent values, so that models get deep.
            return (
                fitting[-1 - int(len(fitting) * self.random.random() ** 2)]
                if self.outer is None
                else (self.random.choice(fitting))
            )
        if fitting and self.outer is not None:
            return self.random.choice(fitting)
        made = self.input(self.random.choice(dtypes), self.shape(self.random.choice(ranks)))
        if bounded and not made.is_bounded:
            raise NotApplicable
        return made

    def shape(self, rank: int) -> Shape:
        """A random shape of a rank."""
        sizes = (*SIZES, 0) if self.shared.allows_empty else SIZES
        return tuple(self.random.choice(sizes) for _ in range(rank))

    def numbers(self, dtype: DType, shape: Shape, is_finite: bool = False) -> Array:
        """Elements of a constant: small, with zeros and negatives, mostly exact in binary."""
        if dtype == BOOL:
            return self.numpy.integers(0, 2, shape).astype(np.bool_)
        if dtype.kind == "u":
            return self.numpy.integers(0, 8, shape).astype(dtype)
        if dtype.kind == "i":
            return self.numpy.integers(-6, 8, shape).astype(dtype)
        if self.shared.allows_nonfinite and not is_finite and self.chance(0.15):
            return self.numpy.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]), shape).astype(dtype)
        if self.chance(0.3):
            return (self.numpy.standard_normal(shape) * 2).astype(dtype)
        return (self.numpy.integers(-12, 13, shape) / 4).astype(dtype)

    def weights(self, dtype: DType, *shape: int, is_finite: bool = False) -> ModelValue:
        """A constant with such elements."""
        return self.constant(self.numbers(dtype, shape, is_finite))

    def positive(self, dtype: DType, *shape: int) -> ModelValue:
        """A constant with positive elements."""
        return self.constant(
            (self.numpy.integers(1, 9, shape) / (4 if dtype.kind == "f" else 1)).astype(dtype)
        )

    def scalar(self, dtype: DType, number: float) -> ModelValue:
        """A constant of rank 0 or, sometimes, of shape [1]."""
        return self.constant(np.full(self.random.choice(((), (), (1,))), number, dtype))

    def like(self, value: ModelValue, *shape: int) -> ModelValue:
        """Another value of the same type, mostly constant."""
        if self.chance(0.6):
            return self.weights(value.dtype, *shape)
        known = [one for one in self.readable() if one.dtype == value.dtype and one.shape == shape]
        if known:
            return self.random.choice(known)
        if self.outer is not None:
            return self.weights(value.dtype, *shape)
        return self.input(value.dtype, shape)

    def broadcastable(self, shape: Shape) -> Shape:
        """A shape that broadcasts with this one, mostly to it."""
        sizes = [size if self.chance(0.7) else 1 for size in shape]
        while sizes and self.chance(0.25):
            del sizes[0]
        if self.chance(0.15):
            sizes = [self.random.choice(SIZES) if size == 1 else size for size in sizes]
        return tuple(sizes)


def new_builder(seed: int, opset: int, allows_nonfinite: bool, allows_empty: bool) -> ModelBuilder:
    """A builder of an empty model."""
    counter = count()
    shared = BuilderState(
        lambda kind: f"{kind}{next(counter)}", allows_nonfinite=allows_nonfinite, allows_empty=allows_empty
    )
    return ModelBuilder(Random(seed), opset, shared)


def _value(name: str, type_proto: TypeProto | None) -> ModelValue:
    """A result from its inferred type, which must be a tensor of static shape."""
    tensor = None if type_proto is None else type_proto.tensor_type
    if tensor is None or not tensor.elem_type or not tensor.HasField("shape"):
        raise NotApplicable
    if any(not dim.HasField("dim_value") for dim in tensor.shape.dim):
        raise NotApplicable
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return ModelValue(name, np.dtype(dtype), tuple(dim.dim_value for dim in tensor.shape.dim))


def _check_types(schema: onnx.defs.OpSchema, operands: Sequence[ModelValue | None]) -> None:
    """Raise `NotApplicable` for operands that the operator schema does not accept."""
    bound: dict[str, str] = {}
    if not schema.min_input <= len(operands) <= schema.max_input:
        raise NotApplicable
    for index, operand in enumerate(operands):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        if operand is None:
            continue
        text = operand.type_text
        if text not in formal.types:
            raise NotApplicable
        if formal.is_homogeneous and bound.setdefault(formal.type_str, text) != text:
            raise NotApplicable
