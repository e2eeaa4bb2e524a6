"""Models that are instances of patterns, for the shared test of all rules, and their evaluators."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

import numpy as np
import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Dialect, Operation, SSAValue

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import (
    NONE,
    SeqType,
    element_type,
    element_type_of,
    tensor_type,
    unranked,
)
from xonnc.formats.onnx.exporter import export_proto
from xonnc.fuzzing.rules.expansions import EXPANSIONS
from xonnc.fuzzing.rules.values import as_kind, elements
from xonnc.rewriting.attribute_conversion import encode
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.matcher import property_name
from xonnc.rewriting.patterns import (
    Array,
    AttrName,
    Bound,
    Const,
    ConstRest,
    Literal,
    MaybeConst,
    Node,
    OperandSpec,
    Rest,
)
from xonnc.rewriting.rules import definition_of
from xonnc.transforms.shape_inference_onnx import infer_shapes

Given = Array | tuple[int, ...] | None
"""A value: an array, the shape of a random array, or absent."""

ANY_OPSET = 21
"""Opset of a model that has no operator left to determine it."""


class Evaluator(Protocol):
    """Interface of the reference evaluator of a model."""

    def run(self, output_names: None, feed_inputs: Mapping[str, Array]) -> Sequence[Array]: ...


OLD_IR = 10
"""An IR version that all supported onnxruntime versions read."""


def scaler(op: object, x: Array, offset: Array | None = None, scale: Array | None = None) -> tuple[Array]:
    """Scaler as specified: the reference evaluator requires both attributes and returns the type of x."""
    moved = x.astype(np.float32) - (0 if offset is None else np.asarray(offset, np.float32))
    return (np.asarray(moved * (1 if scale is None else np.asarray(scale, np.float32))),)


def one_hot(op: object, indices: Array, depth: Array, values: Array, axis: int = -1) -> tuple[Array]:
    """OneHot as specified: the reference evaluator rejects a depth of shape [1]."""
    count = int(depth.reshape(()))
    hot = np.expand_dims(np.where(indices < 0, indices + count, indices), axis)
    classes = np.arange(count).reshape([-1 if index == axis % hot.ndim else 1 for index in range(hot.ndim)])
    return (values[(hot == classes).astype(np.int64)],)


def own_op(domain: str, name: str, run: Callable[..., tuple[Array]]) -> type:
    """Return an operator class for the reference evaluator."""
    base: type = import_module("onnx.reference.op_run").OpRun
    return type(name, (base,), {"op_domain": domain, "_run": run})


OWN_OPS = (own_op("ai.onnx.ml", "Scaler", scaler), own_op("", "OneHot", one_hot))


def evaluator(model: onnx.ModelProto, by_onnxruntime: bool) -> Evaluator:
    """Return the ONNX reference evaluator or onnxruntime, imported by name as neither has annotations."""
    if by_onnxruntime:
        model.ir_version = OLD_IR
        return import_module("onnxruntime").InferenceSession(model.SerializeToString())
    return import_module("onnx.reference").ReferenceEvaluator(model, new_ops=list(OWN_OPS))


PLACES = frozenset(
    "axes condition ends exponent first indices inner labels lengths outer pads position repeats roi scales"
    " second shape sizes split starts steps target".split()
)
"""Names of values that keep their own element type: indices, axes, counts and the like."""

FLOATS = (np.float32, np.float64, np.float16)
INTEGERS = (np.int32, np.int64, np.int8, np.uint8)
EVERY = (*FLOATS, *INTEGERS, np.bool_)


SPLITS = {"Split", "SplitV11", "SplitV13"}
"""Ops that are created with two results."""

SEQUENCES = {"SequenceConstruct", "SplitToSequence"}
"""Ops that return a sequence of their operands."""


@dataclass(frozen=True)
class Example:
    """Operands and attributes of one instance of a pattern, where they differ from the defaults."""

    values: Mapping[str, Given] = field(default_factory=dict[str, Given])
    attributes: Mapping[str, Literal | Attribute | None] = field(
        default_factory=dict[str, "Literal | Attribute | None"]
    )
    properties: Mapping[str, Mapping[str, Literal | Attribute]] = field(
        default_factory=dict[str, "Mapping[str, Literal | Attribute]"]
    )
    dtypes: Sequence[type[np.generic]] = EVERY
    pattern: Node | None = None
    """A more specific pattern than the rule's own."""
    inferred: bool = True
    """Whether shape inference runs first, which fills in absent properties."""
    types: Sequence[Attribute] = ()
    """Result types of the root op, if they do not follow from its first operand."""
    kept: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Discardable attributes of the root op."""
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of values of a variadic name, if not 3; they are called x0, x1, …"""
    own: Collection[str] = ()
    """Names of further arrays that keep their own element type, besides `PLACES`."""
    expected: Callable[[Mapping[str, Array]], Sequence[Array]] | None = None
    """Expected results for given inputs, where the reference evaluator cannot run the instance."""
    specials: bool = True
    """Whether random elements may be infinities, NaN or integer limits."""
    opset: int | None = None
    """Opset for onnxruntime, for old operators that only onnxruntime implements."""


def ints(*numbers: int) -> Array:
    """Return an int64 constant of indices, axes or counts."""
    return np.array(numbers, np.int64)


def example(attributes: Mapping[str, Literal | Attribute | None] | None = None, **values: Given) -> Example:
    """Return an example for all element types."""
    return Example(values, attributes or {})


class Instance:
    """A model that is one instance of a pattern."""

    def __init__(self, root: Node, example: Example, dtype: type[np.generic], specials: bool, seed: int):
        self.context, self.pool = Context(), DisposablePool()
        # Patterns have their operators: of a context they need the pool alone, which is made in no time.
        self.context.load_dialect(Dialect("onnx", [], [], [self.pool]))
        self.example, self.dtype, self.specials = example, np.dtype(dtype), specials
        self.random = np.random.default_rng(seed)
        self.function = FuncOp("main_graph", ([], []))
        self.values: dict[str, list[SSAValue]] = {}
        self.shared: dict[str, Operation] = {}
        self.feeds: dict[str, Array] = {}
        self.data: list[Array] = []
        made = self.op(example.pattern or root, example.types)
        made.attributes.update(example.kept)
        several = example.types or made.name.removeprefix("onnx.") in SPLITS
        used = [result for result in made.results if result.index == 0 or (several and result.type != NONE)]
        self.add(ReturnOp.create(operands=used))
        types = [argument.type for argument in self.function.args], [result.type for result in used]
        self.function.function_type = FunctionType.from_lists(*types)
        self.module = ModuleOp([self.function, EntryPointOp("main_graph")])
        if example.opset is not None:
            opsets = DictionaryAttr({"": IntegerAttr(example.opset, i64)})
            self.module.attributes["onnx.opset_imports"] = opsets
        if example.inferred:
            infer_shapes(self.module)
        names = ArrayAttr([DictionaryAttr({"onnx.name": StringAttr(name)}) for name in self.feeds])
        self.function.arg_attrs = names
        self.verify()

    def verify(self) -> None:
        """
        Raise `VerifyException` for an operator that does not have these types.

        `Operation.verify` would print the module with the message, which is of no use here, and check the
        structure, which is that of a pattern.
        """
        for op in self.module.walk():
            op.verify_()

    def add(self, op: Operation) -> Operation:
        self.function.body.block.add_op(op)
        return op

    def op(self, node: Node, types: Sequence[Attribute] = ()) -> Operation:
        definition = definition_of(node.template)
        op_class = node.template.dialect.op_class(node.template.name)
        assert definition is not None
        assert op_class is not None
        operands = [operand for part in node.operands for operand in self.operands(part)]
        properties: dict[str, Attribute] = {}
        given = {**self.example.properties.get(node.template.name, {}), **node.properties}
        for name, expected in given.items():
            known = self.example.attributes.get(expected.name) if isinstance(expected, AttrName) else expected
            if known is not None and not isinstance(known, AttrName):
                properties[property_name(definition, name)] = encode(known)
        types = types or [expected for expected in node.types if isinstance(expected, Attribute)]
        types = types or self.result_types(node.template.name, operands[0].type, len(definition.results))
        return self.add(op_class.create(operands=operands, result_types=types, properties=properties))

    def result_types(self, name: str, first: Attribute, count: int) -> list[Attribute]:
        element = element_type(first)
        assert element is not None
        if name in SPLITS:
            return [unranked(element)] * 2
        if name in SEQUENCES:
            return [SeqType(unranked(element))]
        return [unranked(i1 if index else element) for index in range(count)]

    def operands(self, part: OperandSpec) -> list[SSAValue]:
        match part:
            case Node(name=name) if name:
                # All occurrences of a named node are the same op.
                if name not in self.shared:
                    self.shared[name] = self.op(part)
                return [self.shared[name].results[part.result]]
            case Node():
                return [self.op(part).results[part.result]]
            case Rest(name=name) | Bound(name=name):
                if name not in self.values:
                    count = self.example.counts.get(name, 3) if isinstance(part, Rest) else 1
                    self.values[name] = [self.value(part, f"{name}{index}") for index in range(count)]
                return self.values[name]
            case _:
                return [self.absent()]

    def absent(self) -> SSAValue:
        return self.add(NoValueOp()).results[0]

    def value(self, part: Bound, unique: str) -> SSAValue:
        given = self.example.values.get(unique, self.example.values.get(part.name, (2, 3)))
        if given is None:
            return self.absent()
        array = self.array(part.name, given)
        self.data.append(array)
        type_ = tensor_type(array.shape, element_type_of(array.dtype))
        if isinstance(part, Const | MaybeConst | ConstRest):
            attribute = self.pool.create(array)
            return self.add(ConstantOp.create(result_types=[type_], properties={"value": attribute})).results[
                0
            ]
        self.feeds[unique] = array
        return self.function.body.block.insert_arg(type_, len(self.feeds) - 1)

    def array(self, name: str, given: Array | tuple[int, ...]) -> Array:
        if isinstance(given, np.ndarray):
            return given if name in PLACES or name in self.example.own else as_kind(given, self.dtype)
        special = self.specials and self.example.specials and bool(self.random.integers(0, 2))
        return elements(self.random, given, self.dtype, special)

    def exportable(self) -> ModuleOp:
        """Return the module with ops that ONNX does not have expanded."""
        if not any(op.name.removeprefix("onnx.") in EXPANSIONS for op in self.module.walk()):
            return self.module
        expanded = self.module.clone()
        apply_rules(expanded, self.context, EXPANSIONS, pass_name="test")
        infer_shapes(expanded)
        return expanded

    def model(self) -> onnx.ModelProto:
        """Export the current module for the reference evaluator."""
        model = export_proto(self.exportable())
        if not model.opset_import:
            model.opset_import.add(version=ANY_OPSET)
        return model

    def evaluate(self, model: onnx.ModelProto) -> list[Array]:
        """Evaluate a model on the inputs of this instance."""
        results = evaluator(model, self.example.opset is not None).run(None, self.feeds)
        return [as_array(result) for result in results]

    def expected(self) -> Callable[[], Sequence[Array]]:
        """Return a function that evaluates the module as it is now, before later changes."""
        given = self.example.expected
        if given is not None:
            return lambda: given(self.feeds)
        model = self.model()
        return lambda: self.evaluate(model)

    def run(self) -> list[Array]:
        """Evaluate the current module."""
        return self.evaluate(self.model())


def as_array(result: object) -> Array:
    """Convert a result of the reference to an array: sequences are stacked, strings stay strings."""
    array = np.asarray(result)
    if array.dtype.kind not in "OS":
        return array
    words = [word.decode() if isinstance(word, bytes) else str(word) for word in array.reshape(-1)]
    return np.array(words, np.str_).reshape(array.shape)
