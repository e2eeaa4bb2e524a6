"""
Constant evaluation of operators without a NumPy function here.

Constant propagation computes common operators with NumPy. Others go to the reference evaluator of the onnx
package (`formats/onnx/reference_evaluator.py`), which `xonnc.passes` installs. It receives a module of one
function, whose arguments are the constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.optional import OptionalOp
from xonnc.dialects.onnx.ops.sequence import SequenceConstructOp, SequenceEmptyOp
from xonnc.dialects.onnx.types import (
    ELEMENT_TYPES_BY_CODE,
    NONE,
    OptType,
    SeqType,
    are_compatible,
    element_type,
    element_type_of,
    tensor_type,
)
from xonnc.errors import XonncError
from xonnc.rewriting.onnx import Optional, SequenceConstruct, SequenceEmpty
from xonnc.rewriting.patterns import Array, MatchFailure, OperandSpec
from xonnc.transforms.onnx_package_hooks import evaluator

RuntimeValue: TypeAlias = "Array | tuple[Array, ...] | None"
"""Runtime value: a tensor, a sequence of tensors, or `None` (an empty optional)."""

Program: TypeAlias = Callable[[Sequence[RuntimeValue]], Sequence[RuntimeValue]]
"""Function of a module, from argument values to result values; may raise `XonncError`."""

CODES = {element: code for code, element in ELEMENT_TYPES_BY_CODE.items()}
"""`TensorProto.DataType` of an element type."""


@dataclass(frozen=True)
class ConstantValue:
    """A compile-time constant value."""

    value: RuntimeValue

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Return the tensors of the value."""
        match self.value:
            case None:
                return ()
            case tuple():
                return self.value
            case array:
                return (array,)


def constant_value(value: SSAValue) -> ConstantValue | None:
    """
    Return the value of a constant, an absent operand, or a sequence or optional of constants; else `None`.
    """
    if value.type == NONE:
        return ConstantValue(None)
    if not isinstance(value, OpResult):
        return None
    match value.op:
        case ConstantOp(value=elements) if elements is not None:
            array = elements_array(elements)
            return None if array is None else ConstantValue(array)
        case SequenceConstructOp():
            parts = [constant_value(part) for part in value.op.operands]
            arrays = [part.value for part in parts if part is not None and isinstance(part.value, np.ndarray)]
            return ConstantValue(tuple(arrays)) if len(arrays) == len(parts) else None
        case SequenceEmptyOp():
            return ConstantValue(())
        case OptionalOp(input=inner):
            return constant_value(inner)
        case _:
            return None


def captured(op: Operation) -> list[SSAValue]:
    """Return the values from outside an op that its regions use."""
    found: dict[SSAValue, None] = {}
    for region in op.regions:
        for inner in region.walk():
            for value in inner.operands:
                if not op.is_ancestor(value.owner):
                    found[value] = None
    return list(found)


def program_of_op(op: Operation, inputs: Sequence[SSAValue]) -> Program:
    """Return the function of an op of `inputs`, its operands without absent ones."""
    return _program(module_of_op(op, inputs))


def later_program_of_op(op: Operation, inputs: Sequence[SSAValue]) -> Program:
    """Return `program_of_op`, built at the first call from the op as it is then."""
    made: list[Program] = []

    def run(values: Sequence[RuntimeValue]) -> Sequence[RuntimeValue]:
        if not made:
            made.append(program_of_op(op, inputs))
        return made[0](values)

    return run


def module_of_op(op: Operation, inputs: Sequence[SSAValue]) -> ModuleOp:
    """Return a module with one function, of `inputs`, that contains a copy of an op."""
    frame = _Frame(inputs)
    made = frame.clone(op)
    for region in made.regions:
        if region.blocks:
            _take_in(made, region)
    return frame.module([result for result in made.results if result.type != NONE], op)


def _program(module: ModuleOp) -> Program:
    evaluate = evaluator()
    if evaluate is None:
        raise XonncError("no evaluator is installed for operators without a NumPy function")
    return evaluate(module)


def _take_in(op: Operation, region: Region) -> None:
    """
    Copy captured constants into a region of `op`, since not every reference operator resolves captured names.
    """
    copies: dict[SSAValue, SSAValue] = {}
    first = region.block.first_op
    assert first is not None
    for inner in list(region.walk()):
        for index, value in enumerate(inner.operands):
            owner = value.owner
            if isinstance(owner, ConstantOp) and not op.is_ancestor(owner):
                if value not in copies:
                    copy = owner.clone()
                    region.block.insert_op_before(copy, first)
                    copies[value] = copy.results[0]
                inner.operands[index] = copies[value]


def program_of_body(op: Operation, body: Block, outside: Sequence[SSAValue]) -> Program:
    """Return the function of a body of `op`: of its arguments and of the captured values `outside`."""
    frame = _Frame((*body.args, *outside))
    end = body.last_op
    assert end is not None
    for inner in body.ops:
        if inner is not end:
            frame.clone(inner)
    return _program(frame.module([frame.values.get(result, result) for result in end.operands], op))


class _Frame:
    """A block with an argument for each input, into which ops are cloned."""

    def __init__(self, inputs: Sequence[SSAValue]) -> None:
        self.block = Block(arg_types=[value.type for value in inputs])
        self.values = dict[SSAValue, SSAValue](zip(inputs, self.block.args, strict=True))
        self.absent = NoValueOp()
        self.block.add_op(self.absent)

    def clone(self, op: Operation) -> Operation:
        """Append a copy of `op` to the block."""
        for inner in op.walk():
            for value in inner.operands:
                if value.type == NONE:
                    self.values.setdefault(value, self.absent.results[0])
        made = op.clone(self.values)
        self.block.add_op(made)
        return made

    def module(self, results: Sequence[SSAValue], op: Operation) -> ModuleOp:
        """Return the block as the function of a module with the opset imports of the model around `op`."""
        self.block.add_op(ReturnOp.create(operands=list(results)))
        type_ = FunctionType.from_lists(
            [argument.type for argument in self.block.args], [result.type for result in results]
        )
        return ModuleOp([FuncOp("constants", type_, Region(self.block))], _imports(op))


def _imports(op: Operation) -> dict[str, Attribute]:
    """Return the opset imports of the module around an op."""
    top: Operation | None = op
    while top is not None:
        if (imports := top.attributes.get("onnx.opset_imports")) is not None:
            return {"onnx.opset_imports": imports}
        top = top.parent_op()
    return {}


def result_parts(op: Operation, found: Sequence[RuntimeValue]) -> list[OperandSpec] | MatchFailure:
    """
    Return constants, or sequences of them, for all results of an op; `found` has no entries for absent ones.
    """
    values: Iterator[RuntimeValue] = iter(found)
    parts: list[OperandSpec] = []
    for result in op.results:
        made = None if result.type == NONE else _part(next(values, None), result.type)
        if isinstance(made, MatchFailure):
            return made
        parts.append(made)
    return parts


def _part(values: RuntimeValue, type_: Attribute) -> OperandSpec | MatchFailure:
    match type_:
        case SeqType(element_type=inner) if isinstance(values, tuple):
            element = element_type(inner)
            if not values and element is not None:
                return SequenceEmpty(dtype=CODES[element]).typed(type_)
            refused = next((each for each in values if not _fits(each, inner)), None)
            return SequenceConstruct(*values).typed(type_) if refused is None else _unfit(refused, inner)
        case OptType(element_type=inner):
            if values is None:
                return Optional(None, type=inner).typed(type_)
            part = _part(values, inner)
            return part if isinstance(part, MatchFailure) else Optional(part).typed(type_)
        case _ if isinstance(values, np.ndarray):
            return values if _fits(values, type_) else _unfit(values, type_)
        case _:
            return MatchFailure(f"no constant is of type {type_}")


def _fits(array: Array, type_: Attribute) -> bool:
    return are_compatible(tensor_type(array.shape, element_type_of(array.dtype)), type_)


def _unfit(array: Array, type_: Attribute) -> MatchFailure:
    return MatchFailure(f"the evaluator gives {array.dtype}{list(array.shape)}, the result is {type_}")
