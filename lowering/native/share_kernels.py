"""
Share kernels that differ by numbers alone: each call passes its own.

```mlir
"krnl.call"(%y, %x) {funcName = "scaled_0"} : (memref<8xf32>, memref<8xi32>) -> ()
"krnl.call"(%z, %y) {funcName = "scaled_1"} : (memref<8xf32>, memref<8xi32>) -> ()
func.func private @scaled_0(%y: memref<8xf32>, %x: memref<8xi32>) {
  %scale = arith.constant 2.0 : f32 …
func.func private @scaled_1(%y: memref<8xf32>, %x: memref<8xi32>) {
  %scale = arith.constant 3.0 : f32 …
```

becomes

```mlir
%0 = "krnl.global"() {name = "numbers_0", value = dense<2.0>} : () -> memref<1xf32>
"krnl.call"(%y, %x, %0) {funcName = "scaled_0"} : (memref<8xf32>, memref<8xi32>, memref<1xf32>) -> ()
%1 = "krnl.global"() {name = "numbers_1", value = dense<3.0>} : () -> memref<1xf32>
"krnl.call"(%z, %y, %1) {funcName = "scaled_0"} : (memref<8xf32>, memref<8xi32>, memref<1xf32>) -> ()
func.func private @scaled_0(%y: memref<8xf32>, %x: memref<8xi32>, %numbers: memref<1xf32>) {
  %scale = krnl.load %numbers[%c0] …
```

The layers of a quantized network differ by their scales and zero points: with a kernel of its own each, most
of the time of compilation would be that of equal code.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    TensorType,
    f32,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.memory import CallOp, GlobalOp, LoadOp
from xonnc.lowering.native.called_kernels import called_kernels
from xonnc.lowering.onnx_to_krnl.builders.shared_kernels import contents_of

Number: TypeAlias = FloatAttr[Float32Type] | IntegerAttr[IntegerType]
NumberType: TypeAlias = Float32Type | IntegerType

PASSED: tuple[NumberType, ...] = (f32, i32)
"""Types of the numbers that calls pass."""

_Called: TypeAlias = tuple[FuncOp, list[CallOp]]
"""A kernel and its calls."""


@dataclass(frozen=True)
class ShareKernels(ModulePass):
    """Replace kernels that differ by float32 and 32-bit integer constants alone by one, which takes them."""

    name = "share-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Share the kernels that the module's functions call."""
        groups: dict[Hashable, list[_Called]] = {}
        for kernel, calls in called_kernels(op):
            groups.setdefault(_form(kernel), []).append((kernel, calls))
        made = 0
        for group in groups.values():
            if len(group) > 1:
                made = _share(group, made)


def _is_number(op: Operation) -> bool:
    """Whether an operation is a constant of a kernel that may be passed."""
    is_constant = isinstance(op, arith.ConstantOp) and op.result.type in PASSED
    return is_constant and isinstance(op.parent_op(), FuncOp)


def _numbers(kernel: FuncOp) -> list[arith.ConstantOp]:
    return [each for each in kernel.body.block.ops if isinstance(each, arith.ConstantOp) and _is_number(each)]


def _form(kernel: FuncOp) -> Hashable:
    """Return all that a kernel says but for its name and the values of its numbers."""
    named = {name: value for name, value in kernel.properties.items() if name != "sym_name"}
    found: list[Hashable] = [*named.items(), *kernel.attributes.items()]
    return (*found, *contents_of(kernel.body, _is_number))


def _share(group: Sequence[_Called], made: int) -> int:
    """Replace kernels by the first of them; return how many constants there are then."""
    constants = [_numbers(kernel) for kernel, _ in group]
    kept = group[0][0]
    position = sum(isinstance(type_, MemRefType) for type_ in kept.function_type.inputs)
    for type_ in PASSED:
        varying = [
            each
            for each in zip(*constants, strict=True)
            if each[0].result.type == type_ and any(one.value != each[0].value for one in each)
        ]
        if not varying:
            continue
        _take(kept, position, [each[0] for each in varying])
        for (_, calls), own in zip(group, zip(*varying, strict=True), strict=True):
            values = [each.value for each in own]
            for call in calls:
                _pass(call, position, values, type_, f"numbers_{made}")
                made += 1
        position += 1
    for kernel, calls in group[1:]:
        for call in calls:
            call.func_name = kept.sym_name
        kernel.detach()
        kernel.erase()
    return made


def _take(kernel: FuncOp, position: int, constants: Sequence[arith.ConstantOp]) -> None:
    """Let a kernel load constants from an argument."""
    entry = kernel.body.block
    argument = entry.insert_arg(_memory(constants[0].result.type, len(constants)), position)
    results = kernel.function_type.outputs
    kernel.function_type = FunctionType.from_lists([each.type for each in entry.args], list(results))
    for number, constant in enumerate(constants):
        index = arith.ConstantOp(IntegerAttr(number, IndexType()))
        load = LoadOp(argument, [index.result])
        entry.insert_ops_before([index, load], constant)
        constant.result.replace_all_uses_with(load.result)
        constant.detach()
        constant.erase()


def _pass(call: CallOp, position: int, values: Sequence[Number], type_: NumberType, name: str) -> None:
    """Pass the values of constants to a kernel."""
    assert call.parent is not None
    numbers = np.array([each.value.data for each in values])
    numbers = numbers.astype(np.float32 if type_ == f32 else np.int32)
    elements = DenseIntOrFPElementsAttr(TensorType(type_, [len(values)]), BytesAttr(numbers.tobytes()))
    constant = GlobalOp.of(name, elements, _memory(type_, len(values)))
    call.parent.insert_ops_before([constant], call)
    call.operands = [*call.operands[:position], constant.output, *call.operands[position:]]
    if call.iterations_parameter is not None and call.iterations_parameter.value.data >= position:
        call.iterations_parameter = IntegerAttr(call.iterations_parameter.value.data + 1, i64)


def _memory(element: Attribute, count: int) -> MemRefType:
    return MemRefType(element, [count])
