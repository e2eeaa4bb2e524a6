"""The results of a function of the onnx dialect, as terms of the elements of its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import (
    ELEMENT_DTYPES,
    NONE,
    element_type,
    element_type_of,
    is_tensor,
    numpy_dtype,
    static_shape,
    tensor_type,
    unranked,
)
from xonnc.formats.onnx.exporter import export_proto
from xonnc.fuzzing.certification.scalar_semantics import ELEMENTWISE, Scalars
from xonnc.fuzzing.certification.tensor_semantics import (
    TENSORWISE,
    EmptyOperandError,
    NoMeaningError,
    Operands,
    broadcast,
)
from xonnc.fuzzing.certification.terms import Term, TermArray, Terms, is_known, known_array
from xonnc.fuzzing.certification.window_semantics import WINDOWS
from xonnc.fuzzing.rules.instances import OWN_OPS
from xonnc.rewriting.attribute_conversion import decode

MEANINGS = {**TENSORWISE, **WINDOWS}

DATA = {
    "Concat": None,
    "OneHot": (2,),
    "Pad": (0, 2),
    "Scatter": (0, 2),
    "ScatterElements": (0, 2),
    "ScatterND": (0, 2),
}
"""Operands whose elements are moved, if not the first alone; `None`: all."""

MOVEMENT = frozenset(
    "Compress Concat DepthToSpace Dropout Expand Flatten Gather GatherElements GatherND Identity OneHot Pad"
    " Reshape ReverseSequence Scatter ScatterElements ScatterND Slice SpaceToDepth Split Squeeze Tile"
    " Transpose Trilu Unsqueeze".split()
)
"""Operators that move elements and look at none: one run on distinct numbers tells where each goes."""

DIFFERENT = frozenset({"ClipV6", "SoftmaxV11", "LogSoftmaxV11", "HardmaxV11", "GroupNormalizationV18"})
"""Older versions whose meaning is not that of the newest."""

ZERO = 0
"""The number of elements that no operand has, such as padding."""


def base_name(op: Operation) -> str:
    """Return the name of an operator without its version."""
    name = op.name.removeprefix("onnx.")
    return name if name in DIFFERENT else re.sub(r"V\d+$", "", name)


def aligned(op: Operation, operands: Sequence[TermArray]) -> list[TermArray]:
    """Return operands with the second one at an axis of the first, where opsets before 7 say so."""
    given = (op.attributes.get("axis"), op.attributes.get("broadcast"))
    axis, broadcasts = (None if each is None else decode(each) for each in given)
    if not broadcasts or not isinstance(axis, int) or len(operands) != 2:
        return list(operands)
    wide, narrow = operands
    after = wide.ndim - axis - narrow.ndim
    if axis < 0 or after < 0:
        raise NoMeaningError(f"the second operand does not fit into the first from axis {axis} on")
    return [wide, narrow.reshape(narrow.shape + (1,) * after)]


class ModuleMeaning:
    """Evaluates functions on terms."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.scalars = Scalars(terms)

    def results(self, function: FuncOp, arguments: Sequence[TermArray]) -> list[TermArray]:
        """Return the results of a function; raises `NoMeaningError`."""
        values: dict[SSAValue, TermArray | None] = dict(zip(function.args, arguments, strict=True))
        for op in function.body.block.ops:
            if isinstance(op, ReturnOp):
                found = [values[operand] for operand in op.operands]
                return [each for each in found if each is not None]
            values.update(
                zip(op.results, self.op(op, [values[operand] for operand in op.operands]), strict=True)
            )
        raise NoMeaningError("the function returns nothing")

    def op(self, op: Operation, operands: Operands) -> Sequence[TermArray | None]:
        """Return the results of one op."""
        if isinstance(op, NoValueOp):
            return [None]
        if isinstance(op, ConstantOp):
            array = None if op.value is None else elements_array(op.value)
            if array is None:
                raise NoMeaningError("a constant without elements")
            return [self.terms.literals(array)]
        name = base_name(op)
        if op.regions:
            raise NoMeaningError(f"{name} has regions")
        if name in ("Shape", "Dim", "Size") and operands[0] is not None:
            return [self.sizes(op, name, operands[0].shape)]
        attributes = attributes_of(op)
        known = all(operand is None or is_known(operand) for operand in operands)
        if known:
            return self.computed(op, operands)
        if name in ELEMENTWISE:
            meaning, given = ELEMENTWISE[name], [operand for operand in operands if operand is not None]
            return [broadcast(lambda x: meaning(self.scalars, attributes, x), *aligned(op, given))]
        if name in MEANINGS:
            return self.tensorwise(op, name, attributes, operands)
        if name in MOVEMENT:
            return self.moved(op, name, operands)
        return self.uninterpreted(op, operands)

    def tensorwise(
        self, op: Operation, name: str, attributes: Mapping[str, object], operands: Operands
    ) -> Sequence[TermArray | None]:
        if any(operand is not None and not operand.size for operand in operands):
            raise EmptyOperandError("an operand is empty")
        if any(result.type != NONE for result in op.results[1:]):
            raise NoMeaningError(f"{name} with more than one result")
        made = MEANINGS[name](self.scalars, attributes, operands)
        return [made, *[None] * (len(op.results) - 1)]

    def sizes(self, op: Operation, name: str, shape: tuple[int, ...]) -> TermArray:
        attributes = attributes_of(op)
        if name == "Size":
            return self.terms.literals(np.array(int(np.prod(shape)), np.int64))
        if name == "Dim":
            axis = attributes["axis"]
            assert isinstance(axis, int)
            return self.terms.literals(np.array([shape[axis]], np.int64))
        start, end = attributes.get("start"), attributes.get("end")
        cut = slice(start if isinstance(start, int) else None, end if isinstance(end, int) else None)
        return self.terms.literals(np.array(shape[cut], np.int64))

    def computed(self, op: Operation, operands: Operands) -> Sequence[TermArray | None]:
        """Compute an op of known operands by the reference evaluator."""
        arrays = [
            None if operand is None else known_array(operand, _dtype(value))
            for operand, value in zip(operands, op.operands, strict=True)
        ]
        return [None if array is None else self.terms.literals(array) for array in run_op(op, arrays)]

    def moved(self, op: Operation, name: str, operands: Operands) -> Sequence[TermArray | None]:
        """Move the terms as the reference evaluator moves their numbers."""
        operand_indices = DATA.get(name, (0,))
        operand_indices = tuple(range(len(operands))) if operand_indices is None else operand_indices
        first = operands[operand_indices[0]]
        assert first is not None
        dtype = _dtype(op.operands[operand_indices[0]])
        labelled = np.dtype(np.float64 if "float" in dtype.name else np.int64)
        table: list[Term] = [self.terms.literal(0.0 if "float" in dtype.name else 0, dtype.name)]
        arrays: list[npt.NDArray[Any] | None] = []
        for index, operand in enumerate(operands):
            if operand is None:
                arrays.append(None)
            elif index in operand_indices:
                numbers = np.arange(len(table), len(table) + operand.size).reshape(operand.shape)
                arrays.append(numbers.astype(labelled))
                table += list(operand.reshape(-1))
            elif is_known(operand):
                arrays.append(known_array(operand, _dtype(op.operands[index])))
            else:
                raise NoMeaningError(f"indices of {name} are computed at run time")
        fill = op.properties.get("value") if name == "Pad" else None
        if isinstance(fill, FloatAttr):
            table[ZERO] = self.terms.literal(float(fill.value.data), dtype.name)
        made = run_op(op, arrays, labelled, dtype, {"value": FloatAttr(0.0, 32)} if fill else {})
        return [None if array is None else _picked(table, array) for array in made]

    def uninterpreted(self, op: Operation, operands: Operands) -> Sequence[TermArray | None]:
        """Return elements of which nothing is known but that they are equal for equal operands."""
        tensors = [
            self.terms.literal("absent", "none")
            if operand is None
            else self.terms.apply(f"tensor {operand.shape}", _dtype(value).name, *operand.reshape(-1))
            for operand, value in zip(operands, op.operands, strict=True)
        ]
        properties = sorted((name, str(found)) for name, found in op.properties.items())
        results: list[TermArray | None] = []
        for result in op.results:
            shape = static_shape(result.type)
            if result.type == NONE:
                results.append(None)
                continue
            if shape is None:
                raise NoMeaningError(f"the shape of {op.name} is not known")
            dtype = _dtype(result).name
            made = np.empty(int(np.prod(shape, dtype=np.int64)), np.object_)
            made[:] = [
                self.terms.apply(f"{op.name} {properties} {result.index} {index}", dtype, *tensors)
                for index in range(made.size)
            ]
            results.append(made.reshape(shape))
        return results


def _picked(table: list[Term], numbers: npt.NDArray[Any]) -> TermArray:
    made = np.empty(numbers.size, np.object_)
    made[:] = [table[int(number)] for number in numbers.reshape(-1)]
    return made.reshape(numbers.shape)


def _dtype(value: SSAValue) -> np.dtype[np.generic]:
    element = element_type(value.type)
    if element is None:
        raise NoMeaningError("a value that is no tensor")
    return numpy_dtype(element)


def attributes_of(op: Operation) -> dict[str, object]:
    """Return the attributes of an op; a type is the name of its NumPy type."""
    made: dict[str, object] = {}
    for name, found in op.properties.items():
        # SequenceEmpty has the number of its element type.
        if name in ("to", "dtype") and found in ELEMENT_DTYPES:
            made[name] = numpy_dtype(found).name
            continue
        value = decode(found)
        made[name] = list(value) if isinstance(value, tuple) else value
    return made


def run_op(
    op: Operation,
    arrays: Sequence[npt.NDArray[Any] | None],
    labelled: np.dtype[np.generic] | None = None,
    replaced: np.dtype[np.generic] | None = None,
    properties: Mapping[str, Attribute] | None = None,
) -> list[npt.NDArray[Any] | None]:
    """Run one op in the reference evaluator; results of the type `replaced` are of the type `labelled`."""
    function = FuncOp("main_graph", ([], []))
    block, feeds = function.body.block, dict[str, npt.NDArray[Any]]()
    operands: list[SSAValue] = []
    for array in arrays:
        if array is None:
            absent = NoValueOp()
            block.add_op(absent)
            operands.append(absent.results[0])
            continue
        type_ = tensor_type(array.shape, element_type_of(array.dtype))
        operands.append(block.insert_arg(type_, len(block.args)))
        feeds[f"x{len(feeds)}"] = array
    types = [_relabelled(result.type, labelled, replaced) for result in op.results]
    made = type(op).create(
        operands=operands, result_types=types, properties={**op.properties, **(properties or {})}
    )
    block.add_op(made)
    used = [result for result in made.results if result.type != NONE]
    block.add_op(ReturnOp.create(operands=used))
    function.function_type = FunctionType.from_lists(list(block.arg_types), [result.type for result in used])
    function.arg_attrs = ArrayAttr([DictionaryAttr({"onnx.name": StringAttr(name)}) for name in feeds])
    try:
        model = export_proto(ModuleOp([function, EntryPointOp("main_graph")]))
        with np.errstate(all="ignore"):
            evaluator = import_module("onnx.reference").ReferenceEvaluator(model, new_ops=list(OWN_OPS))
            found = iter([np.asarray(result) for result in evaluator.run(None, feeds)])
    except Exception as error:
        # The reference evaluator validates nothing and raises what Python and NumPy do.
        raise NoMeaningError(f"{op.name} does not run in the reference: {error}") from error
    return [next(found) if result.type != NONE else None for result in made.results]


def _relabelled(
    type_: Attribute, labelled: np.dtype[np.generic] | None, replaced: np.dtype[np.generic] | None
) -> Attribute:
    if labelled is None or replaced is None or not is_tensor(type_):
        return type_
    if element_type(type_) != element_type_of(replaced):
        return type_
    return unranked(element_type_of(labelled))
