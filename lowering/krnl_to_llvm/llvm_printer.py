"""
Print a module of the llvm dialect as LLVM IR.

Instructions become text directly. The backend of xDSL creates an object of llvmlite for each, which then
prints itself: that takes four times as long, a tenth of the time to compile a small model.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from importlib import import_module

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer, is_vector
from xonnc.dialects.krnl.vector_llvm import FCmpOp, SelectOp
from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm.llvm_builder import intrinsic_suffix

FMA = "llvm.fmuladd"
"""
The intrinsic for `llvm.intr.fma`.

Without an FMA instruction, `llvm.fma` calls the C library per element, 30 times as slow as the multiply
and add that `llvm.fmuladd` becomes; on processors with FMA both are the same instruction.
"""


def module_text(
    module: ModuleOp, triple: str, *, is_local: bool = False, elsewhere: Collection[str] = ()
) -> str:
    """
    Return a module as LLVM IR.

    Parameters:
        module: the module, of functions and constants.
        triple: the target triple; empty for that of this machine.
        is_local: whether all functions that are defined get internal linkage.
        elsewhere: functions that text to be appended defines, and that need no declaration.
    """
    printer = _ModulePrinter(is_local, frozenset(elsewhere))
    printer.print(module)
    return "\n".join([f'target triple = "{triple or _own_triple()}"', "", *printer.lines, ""])


@cache
def _own_triple() -> str:
    return str(import_module("llvmlite.binding").get_default_triple())


class _ModulePrinter:
    """The lines of a module."""

    def __init__(self, is_local: bool, elsewhere: Collection[str]) -> None:
        self.lines: list[str] = []
        self._is_local, self._elsewhere = is_local, elsewhere
        self._intrinsics: dict[str, str] = {}
        self._types: dict[int, str] = {}

    def print(self, module: ModuleOp) -> None:
        """Append constants and functions, then declarations of the intrinsics in use."""
        functions = [op for op in module.ops if isinstance(op, llvm.FuncOp)]
        for op in module.ops:
            if isinstance(op, llvm.GlobalOp):
                self._global(op)
            elif not isinstance(op, llvm.FuncOp):
                raise _unknown(op)
        for function in functions:
            self._function(function)
        known = {function.sym_name.data for function in functions}
        self.lines += [text for name, text in self._intrinsics.items() if name not in known]

    def type_text(self, type_: Attribute) -> str:
        """Return a type of an operation of the module, by identity: a hash of a vector type takes longer."""
        key = id(type_)
        found = self._types.get(key)
        if found is None:
            found = self._types[key] = type_text(type_)
        return found

    def use_intrinsic(self, name: str, result: str, operands: Iterable[SSAValue]) -> None:
        """Declare an intrinsic at the end of the module."""
        if name not in self._intrinsics:
            types = ", ".join(self.type_text(each.type) for each in operands)
            self._intrinsics[name] = f'declare {result} @"{name}"({types})'

    def _global(self, op: llvm.GlobalOp) -> None:
        kind = "global" if op.constant is None else "constant"
        aligned = "" if op.alignment is None else f", align {op.alignment.value.data}"
        elements = op.properties["value"]
        assert isinstance(elements, DenseIntOrFPElementsAttr)
        held = _nested(op.global_type, elements.get_values())
        name = f'@"{op.sym_name.data}"'
        self.lines.append(f"{name} = {op.linkage.linkage.data} {kind} {held}{aligned}")

    def _function(self, op: llvm.FuncOp) -> None:
        name, type_ = op.sym_name.data, op.function_type
        result = self.type_text(type_.output)
        if not op.body.blocks:
            if name not in self._elsewhere:
                parameters = ", ".join(map(self.type_text, type_.inputs))
                self.lines.append(f'declare {result} @"{name}"({parameters})')
            return
        body = _FunctionPrinter(self, op.body.blocks)
        linkage = "internal " if self._is_local else ""
        head = f'define {linkage}{result} @"{name}"({body.parameters()}){_attributes(op)}'
        self.lines += [head, "{", *body.lines(), "}", ""]


class _FunctionPrinter:
    """The text of a function: values are numbered, constants stand where they are used."""

    def __init__(self, module: _ModulePrinter, blocks: Sequence[Block]) -> None:
        self.module = module
        self.type_text = module.type_text
        self.values: dict[SSAValue, str] = {}
        self._blocks = blocks
        self._labels = {block: f"b{number}" for number, block in enumerate(blocks)}
        self._incoming: dict[SSAValue, list[str]] = {}
        self._count = 0
        for argument in blocks[0].args:
            self._number(argument)

    def typed(self, value: SSAValue) -> str:
        """Return a value after its type."""
        return f"{self.type_text(value.type)} {self.values[value]}"

    def parameters(self) -> str:
        """Return the parameters of the function."""
        return ", ".join(map(self.typed, self._blocks[0].args))

    def lines(self) -> list[str]:
        """Return the lines of all blocks."""
        lines: list[str] = []
        phis: list[tuple[int, SSAValue]] = []
        for index, block in enumerate(self._blocks):
            lines.append(f"{self._labels[block]}:")
            for argument in block.args if index else ():
                self._number(argument)
                # Values that come from later blocks are numbered later.
                phis.append((len(lines), argument))
                lines.append("")
            for op in block.ops:
                self._instruction(op, lines)
        for index, argument in phis:
            incoming = ", ".join(self._incoming[argument])
            lines[index] = f"  {self.values[argument]} = phi {self.type_text(argument.type)} {incoming}"
        return lines

    def jump(self, op: Operation, target: Block, arguments: Iterable[SSAValue]) -> str:
        """Return the label of a block that an operation jumps to, and note the arguments that it passes."""
        assert op.parent is not None
        origin = self._labels[op.parent]
        for argument, value in zip(target.args, arguments, strict=True):
            self._incoming.setdefault(argument, []).append(f"[{self.values[value]}, %{origin}]")
        return f"label %{self._labels[target]}"

    def _number(self, value: SSAValue) -> str:
        name = self.values[value] = f"%{self._count}"
        self._count += 1
        return name

    def _instruction(self, op: Operation, lines: list[str]) -> None:
        kind = type(op)
        if kind in _INSTRUCTIONS:
            text = _INSTRUCTIONS[kind](self, op)
            # Void calls are not numbered.
            lines.append(f"  {self._number(op.results[0])} = {text}" if op.results else f"  {text}")
        elif kind in _CONSTANTS:
            self.values[op.results[0]] = _CONSTANTS[kind](op)
        else:
            raise _unknown(op)


def _unknown(op: Operation) -> XonncError:
    return XonncError(f"{op.name}: no LLVM IR is printed for it; kernels use the operations of llvm_ops.py")


@cache
def type_text(type_: Attribute) -> str:
    """
    Return a type of the llvm dialect as LLVM IR.

    Example:
        >>> type_text(VectorType(f32, [8]))
        '<8 x float>'
    """
    match type_:
        case llvm.LLVMPointerType():
            return "ptr"
        case llvm.LLVMVoidType():
            return "void"
        case llvm.LLVMArrayType():
            return f"[{type_.size.data} x {type_text(type_.type)}]"
        case llvm.LLVMStructType():
            return f"{{{', '.join(map(type_text, type_.types))}}}"
        case _ if is_vector(type_):
            return f"<{type_.get_shape()[0]} x {type_text(type_.element_type)}>"
        case _ if is_integer(type_):
            return f"i{type_.width.data}"
        case _ if type(type_) in _FLOATS:
            return _FLOATS[type(type_)]
        case _:
            raise XonncError(f"{type_}: no type of LLVM IR is printed for it")


_FLOATS: dict[type[Attribute], str] = {Float16Type: "half", Float32Type: "float", Float64Type: "double"}
_ROUNDED = {"half": "e", "float": "f", "double": "d"}
"""The format of `struct` for a float type of LLVM."""


def _number_text(type_: str, number: float) -> str:
    """Return a number of a scalar type; floats have the digits of a double, whatever their type."""
    if type_ not in _ROUNDED:
        return str(int(number))
    rounded = struct.unpack(_ROUNDED[type_], struct.pack(_ROUNDED[type_], number))
    return f"0x{struct.pack('>d', *rounded).hex()}"


def _nested(type_: Attribute, numbers: Iterable[float]) -> str:
    """Return an initial value of (nested arrays of) scalars after its type."""
    text = type_text(type_)
    if isinstance(type_, llvm.LLVMArrayType):
        numbers = iter(numbers)
        return f"{text} [{', '.join(_nested(type_.type, numbers) for _ in range(type_.size.data))}]"
    return f"{text} {_number_text(text, next(iter(numbers)))}"


def _attributes(op: llvm.FuncOp) -> str:
    """Return the attributes of a function in `passthrough`."""
    text = ""
    for pair in op.passthrough or ():
        match pair:
            case ArrayAttr(data=(StringAttr(data=name), StringAttr(data=value))):
                text += f" {name}({value})"
            case _:
                raise XonncError(f"{op.sym_name.data}: {pair} in passthrough is not a name and a value")
    return text


def _constant(op: Operation) -> str:
    value, type_ = op.properties["value"], op.results[0].type
    match value:
        case FloatAttr(value=held) | IntegerAttr(value=held):
            return _number_text(type_text(type_), held.data)
        case _:
            assert isinstance(value, DenseIntOrFPElementsAttr)
            assert is_vector(type_)
    element = type_text(type_.element_type)
    lanes = [f"{element} {_number_text(element, number)}" for number in value.get_values()]
    return f"splat ({lanes[0]})" if len(set(lanes)) == 1 else f"<{', '.join(lanes)}>"


def _address_of(op: Operation) -> str:
    name = op.properties["global_name"]
    assert isinstance(name, SymbolRefAttr)
    return f'@"{name.root_reference.data}"'


def _undefined(op: Operation) -> str:
    return "undef"


def _opcode(op: Operation) -> str:
    """Return LLVM's name of an operation that has the same name in the dialect."""
    return op.name.removeprefix("llvm.")


# Flags that promise more of the operands, which no lowering sets, are left out: none is needed for a result.
def _binary(body: _FunctionPrinter, op: Operation) -> str:
    a, b = op.operands
    return f"{_opcode(op)} {body.typed(a)}, {body.values[b]}"


def _cast(body: _FunctionPrinter, op: Operation) -> str:
    return f"{_opcode(op)} {body.typed(op.operands[0])} to {body.type_text(op.results[0].type)}"


def _order(op: Operation) -> int:
    found = op.properties["predicate"]
    assert isinstance(found, IntegerAttr)
    return found.value.data


def _icmp(body: _FunctionPrinter, op: Operation) -> str:
    a, b = op.operands
    return f"icmp {llvm.ICmpPredicateFlag.from_int(_order(op)).value} {body.typed(a)}, {body.values[b]}"


def _fcmp(body: _FunctionPrinter, op: Operation) -> str:
    a, b = op.operands
    predicate = llvm.FCmpPredicateFlag.from_int(_order(op)).value
    return f"fcmp {_CONSTANT_ORDERS.get(predicate, predicate)} {body.typed(a)}, {body.values[b]}"


_CONSTANT_ORDERS = {"_false": "false", "_true": "true"}


def _list(body: _FunctionPrinter, op: Operation) -> str:
    return f"{_opcode(op)} {', '.join(map(body.typed, op.operands))}"


def _alignment(op: Operation) -> str:
    found = op.properties.get("alignment")
    return f", align {found.value.data}" if isinstance(found, IntegerAttr) else ""


def _load(body: _FunctionPrinter, op: Operation) -> str:
    type_ = body.type_text(op.results[0].type)
    return f"load {type_}, {body.typed(op.operands[0])}{_alignment(op)}"


def _stack_space(body: _FunctionPrinter, op: Operation) -> str:
    element = body.type_text(op.properties["elem_type"])
    return f"alloca {element}, {body.typed(op.operands[0])}{_alignment(op)}"


def _store(body: _FunctionPrinter, op: Operation) -> str:
    return f"{_list(body, op)}{_alignment(op)}"


@cache
def _indices(raw: Attribute) -> tuple[int, ...]:
    assert isinstance(raw, DenseArrayBase)
    return tuple(int(number) for number in raw.iter_values())


def _address(body: _FunctionPrinter, op: Operation) -> str:
    pointer, *values = op.operands
    remaining = iter(values)
    indices = [
        body.typed(next(remaining)) if number == llvm.GEP_USE_SSA_VAL else f"i32 {number}"
        for number in _indices(op.properties["rawConstantIndices"])
    ]
    inbounds = "inbounds " if "inbounds" in op.properties else ""
    element = body.type_text(op.properties["elem_type"])
    return f"getelementptr {inbounds}{element}, {body.typed(pointer)}, {', '.join(indices)}"


@cache
def _mask(lanes: Attribute) -> str:
    numbers = _indices(lanes)
    return f"<{len(numbers)} x i32> <{', '.join(f'i32 {number}' for number in numbers)}>"


def _shuffle(body: _FunctionPrinter, op: Operation) -> str:
    return f"{_list(body, op)}, {_mask(op.properties['mask'])}"


def _member(body: _FunctionPrinter, op: Operation) -> str:
    return f"{_list(body, op)}, {', '.join(map(str, _indices(op.properties['position'])))}"


def _call_of(body: _FunctionPrinter, op: Operation, name: str) -> tuple[str, str]:
    """Return the text of a call, and the type of its result."""
    result = body.type_text(op.results[0].type) if op.results else "void"
    return f'call {result} @"{name}"({", ".join(map(body.typed, op.operands))})', result


def _call(body: _FunctionPrinter, op: Operation) -> str:
    callee = op.properties["callee"]
    assert isinstance(callee, SymbolRefAttr)
    return _call_of(body, op, callee.root_reference.data)[0]


def _call_intrinsic(body: _FunctionPrinter, op: Operation) -> str:
    name = op.properties["intrin"]
    assert isinstance(name, StringAttr)
    text, result = _call_of(body, op, name.data)
    body.module.use_intrinsic(name.data, result, op.operands)
    return text


def _fma(body: _FunctionPrinter, op: Operation) -> str:
    name = f"{FMA}.{intrinsic_suffix(op.results[0].type)}"
    text, result = _call_of(body, op, name)
    body.module.use_intrinsic(name, result, op.operands)
    return text


def _branch(body: _FunctionPrinter, op: Operation) -> str:
    return f"br {body.jump(op, op.successors[0], op.operands)}"


def _conditional_branch(body: _FunctionPrinter, op: Operation) -> str:
    assert isinstance(op, llvm.CondBrOp)
    then = body.jump(op, op.then_block, op.then_arguments)
    otherwise = body.jump(op, op.else_block, op.else_arguments)
    return f"br {body.typed(op.cond)}, {then}, {otherwise}"


def _return(body: _FunctionPrinter, op: Operation) -> str:
    return f"ret {body.typed(op.operands[0])}" if op.operands else "ret void"


_Instruction = Callable[[_FunctionPrinter, Operation], str]

_BINARY: tuple[type[Operation], ...] = (
    *(llvm.AddOp, llvm.SubOp, llvm.MulOp, llvm.UDivOp, llvm.SDivOp, llvm.URemOp, llvm.SRemOp),
    *(llvm.ShlOp, llvm.LShrOp, llvm.AShrOp, llvm.AndOp, llvm.OrOp, llvm.XOrOp),
    *(llvm.FAddOp, llvm.FSubOp, llvm.FMulOp, llvm.FDivOp, llvm.FRemOp),
)
_CASTS: tuple[type[Operation], ...] = (
    *(llvm.TruncOp, llvm.ZExtOp, llvm.SExtOp, llvm.PtrToIntOp, llvm.BitcastOp),
    *(llvm.FPExtOp, llvm.FPTruncOp, llvm.SIToFPOp),
)

_INSTRUCTIONS: dict[type[Operation], _Instruction] = {
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_CASTS, _cast),
    llvm.ICmpOp: _icmp,
    FCmpOp: _fcmp,
    llvm.FCmpOp: _fcmp,
    SelectOp: _list,
    llvm.SelectOp: _list,
    llvm.FMAOp: _fma,
    llvm.AllocaOp: _stack_space,
    llvm.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm.GEPOp: _address,
    llvm.InsertElementOp: _list,
    llvm.ShuffleVectorOp: _shuffle,
    llvm.InsertValueOp: _member,
    llvm.ExtractValueOp: _member,
    llvm.CallOp: _call,
    llvm.CallIntrinsicOp: _call_intrinsic,
    llvm.BrOp: _branch,
    llvm.CondBrOp: _conditional_branch,
    llvm.ReturnOp: _return,
}

_CONSTANTS: dict[type[Operation], Callable[[Operation], str]] = {
    llvm.ConstantOp: _constant,
    llvm.UndefOp: _undefined,
    llvm.AddressOfOp: _address_of,
}
