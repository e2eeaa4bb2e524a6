"""
Write modules of the llvm dialect as LLVM IR.

xDSL converts them to objects of llvmlite, which then format themselves; the same text written directly takes
a fourth of the time. What kernels do not have (globals, attributes of arguments, flags, inline assembly) is
left to xDSL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import count

from xdsl.backend.llvm.convert import convert_module
from xdsl.backend.llvm.convert_op import create_constant
from xdsl.backend.llvm.convert_type import convert_type
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.krnl import vector_llvm
from xonnc.dialects.krnl.types import is_vector
from xonnc.lowering.krnl_to_llvm.llvm_ops import overload_suffix

KEPT_CONSTANTS = 4096
"""The most texts of constants that are kept."""


class _Unsupported(Exception):
    """An operation or attribute that is left to xDSL."""


def llvm_ir(module: ModuleOp, triple: str = "") -> str:
    """Return a module as LLVM IR, for this machine or a target triple."""
    try:
        return _write(module, triple or _host_triple())
    except _Unsupported:
        return str(convert_module(module, fallback_target_triple=triple or None))


@cache
def _host_triple() -> str:
    return convert_module(ModuleOp([]), fallback_target_triple=None).triple


def _write(module: ModuleOp, triple: str) -> str:
    functions: dict[str, llvm.FuncOp] = {}
    for op in module.ops:
        if not isinstance(op, llvm.FuncOp) or op.arg_attrs is not None or op.function_type.is_variadic:
            raise _Unsupported
        functions[op.sym_name.data] = op
    if module.attributes.get("llvm.target_triple") is not None:
        raise _Unsupported
    parts = ['; ModuleID = ""', f'target triple = "{triple}"', 'target datalayout = ""', ""]
    intrinsics: dict[str, str] = {}
    for function in functions.values():
        parts.append(_FunctionWriter(function, functions, intrinsics).text())
    return "\n".join([*parts, *(text for name, text in intrinsics.items() if name not in functions)])


@cache
def _type(type_: Attribute) -> str:
    return str(convert_type(type_))


@lru_cache(KEPT_CONSTANTS)
def _constant(type_: Attribute, value: Attribute) -> str:
    return str(create_constant(type_, value)).removeprefix(f"{_type(type_)} ")


@cache
def _undefined(type_: Attribute) -> str:
    if not is_vector(type_):
        return "undef"
    return f"<{', '.join([f'{_type(type_.element_type)} undef'] * type_.get_shape()[0])}>"


def _prototype(kind: str, returned: str, name: str, types: list[str]) -> str:
    arguments = ", ".join(f'{type_} %".{number}"' for number, type_ in enumerate(types, 1))
    return f'{kind} {returned} @"{name}"({arguments})\n'


class _FunctionWriter:
    """Write one function; values and blocks are numbered as llvmlite does."""

    def __init__(
        self, function: llvm.FuncOp, functions: Mapping[str, llvm.FuncOp], intrinsics: dict[str, str]
    ) -> None:
        self.function = function
        self.functions = functions
        self.intrinsics = intrinsics
        """Declarations by name, which those of this function are added to."""
        self.values: dict[SSAValue, str] = {}
        self.blocks: dict[Block, str] = {}
        self.incoming: dict[SSAValue, list[str]] = {}

    def text(self) -> str:
        """Return the definition or declaration."""
        type_, blocks = self.function.function_type, list(self.function.body.blocks)
        types = [_type(each) for each in type_.inputs]
        kind = "define" if blocks else "declare"
        head = _prototype(kind, _type(type_.output), self.function.sym_name.data, types)
        if not blocks:
            return head
        names = (f".{number}" for number in count(1))
        self._name(blocks[0].args, names)
        # llvmlite names the returned value.
        next(names)
        for block in blocks:
            if block.name_hint:
                raise _Unsupported
            self.blocks[block] = f'%"{next(names)}"'
        for block in blocks[1:]:
            self._name(block.args, names)
            self.incoming.update((argument, []) for argument in block.args)
        bodies = [self._body(block, names) for block in blocks]
        lines: list[str] = []
        for block, body in zip(blocks, bodies, strict=True):
            lines.append(f"{self.blocks[block][2:-1]}:\n")
            lines += [self._phi(argument) for argument in block.args if argument in self.incoming]
            lines += body
        return f"{head}{{\n{''.join(lines)}}}\n"

    def _name(self, values: Iterator[SSAValue] | tuple[SSAValue, ...], names: Iterator[str]) -> None:
        for value in values:
            self.values[value] = f'%"{next(names)}"'

    def _phi(self, argument: SSAValue) -> str:
        incoming = ", ".join(self.incoming[argument])
        return f"  {self.values[argument]} = phi  {_type(argument.type)} {incoming}\n"

    def _body(self, block: Block, names: Iterator[str]) -> list[str]:
        lines: list[str] = []
        for op in block.ops:
            kind = type(op)
            if kind is llvm.ConstantOp:
                self.values[op.results[0]] = _constant(op.results[0].type, op.properties["value"])
                continue
            if kind is llvm.UndefOp:
                self.values[op.results[0]] = _undefined(op.results[0].type)
                continue
            write = WRITERS.get(kind)
            if write is None:
                raise _Unsupported
            text, name = write(self, op), f'%"{next(names)}"'
            if op.results:
                self.values[op.results[0]] = name
                lines.append(f"  {name} = {text}\n")
            else:
                lines.append(f"  {text}\n")
        return lines

    def typed(self, value: SSAValue) -> str:
        """Return an operand with its type."""
        return f"{_type(value.type)} {self.values[value]}"

    def joined(self, op: Operation) -> str:
        """Return the operands of one type, which comes first."""
        values = [self.values[value] for value in op.operands]
        return f"{_type(op.operands[0].type)} {', '.join(values)}"

    def call(self, convention: str, returned: str, name: str, operands: list[SSAValue]) -> str:
        """Return a call of a function."""
        arguments = ", ".join(map(self.typed, operands))
        return f'call {convention}{returned} @"{name}"({arguments})'

    def intrinsic(self, name: str, op: Operation) -> str:
        """Return the call of an intrinsic, which is declared."""
        returned = _type(op.results[0].type) if op.results else "void"
        operands = list(op.operands)
        if name not in self.intrinsics:
            types = [_type(value.type) for value in operands]
            self.intrinsics[name] = _prototype("declare", returned, name, types)
        return self.call("", returned, name, operands)

    def enter(self, target: Block, given: list[SSAValue], block: Block) -> None:
        """Note what the arguments of a block are after a jump from another one."""
        for argument, value in zip(target.args, given, strict=False):
            self.incoming[argument].append(f"[{self.values[value]}, {self.blocks[block]}]")


_Writer = Callable[[_FunctionWriter, Operation], str]


def _without_flags(op: Operation) -> None:
    """Leave operations with flags to xDSL."""
    match op:
        case llvm.ArithmeticBinOpOverflow() if op.overflowFlags and op.overflowFlags.value.data:
            raise _Unsupported
        case llvm.AbstractFloatArithOp() if op.fastmathFlags.data:
            raise _Unsupported
        case llvm.ArithmeticBinOpExact() if op.is_exact:
            raise _Unsupported
        case llvm.ArithmeticBinOpDisjoint() if op.is_disjoint:
            raise _Unsupported
        case llvm.IntegerConversionOpOverflow() if op.overflowFlags:
            raise _Unsupported
        case llvm.IntegerConversionOpNNeg() if op.non_neg:
            raise _Unsupported
        case _:
            pass


def _binary(name: str) -> _Writer:
    def write(writer: _FunctionWriter, op: Operation) -> str:
        _without_flags(op)
        return f"{name} {writer.joined(op)}"

    return write


def _cast(name: str) -> _Writer:
    def write(writer: _FunctionWriter, op: Operation) -> str:
        _without_flags(op)
        return f"{name} {writer.typed(op.operands[0])} to {_type(op.results[0].type)}"

    return write


def _aligned(op: llvm.LoadOp | llvm.StoreOp) -> str:
    return "" if op.alignment is None else f", align {op.alignment.value.data}"


def _load(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.LoadOp)
    return f"load {_type(op.results[0].type)}, {writer.typed(op.ptr)}{_aligned(op)}"


def _store(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.StoreOp)
    return f"store {writer.typed(op.value)}, {writer.typed(op.ptr)}{_aligned(op)}"


def _address(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.GEPOp)
    dynamic = iter(op.ssa_indices)
    indices = [
        writer.typed(next(dynamic)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}"
        for index in op.rawConstantIndices.iter_values()
    ]
    inbounds = "" if op.inbounds is None else " inbounds"
    return f"getelementptr{inbounds} {_type(op.elem_type)}, {writer.typed(op.ptr)}, {', '.join(indices)}"


def _integer_comparison(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.ICmpOp)
    return f"icmp {llvm.ICmpPredicateFlag.from_int(op.predicate.value.data).value} {writer.joined(op)}"


def _float_comparison(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.FCmpOp)
    return f"fcmp {llvm.FCmpPredicateFlag.from_int(op.predicate.value.data).value} {writer.joined(op)}"


def _select(writer: _FunctionWriter, op: Operation) -> str:
    return f"select  {', '.join(map(writer.typed, op.operands))}"


def _insert_element(writer: _FunctionWriter, op: Operation) -> str:
    return f"insertelement {', '.join(map(writer.typed, op.operands))}"


def _shuffle(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.ShuffleVectorOp)
    lanes = op.mask.get_values()
    mask = ", ".join(f"i32 {lane}" for lane in lanes)
    return f"shufflevector {', '.join(map(writer.typed, op.operands))}, <{len(lanes)} x i32> <{mask}>"


def _fma(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.FMAOp)
    if op.fastmathFlags.data:
        raise _Unsupported
    return writer.intrinsic(f"llvm.fma.{overload_suffix(op.res.type)}", op)


def _intrinsic(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.CallIntrinsicOp)
    if op.op_bundle_operands or op.op_bundle_sizes or op.fastmathFlags.data:
        raise _Unsupported
    return writer.intrinsic(op.intrin.data, op)


def _call(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.CallOp)
    callee = None if op.callee is None else writer.functions.get(op.callee.string_value())
    if callee is None or op.op_bundle_operands or op.fastmathFlags.data:
        raise _Unsupported
    if op.TailCallKind.data != llvm.TailCallKind.NONE:
        raise _Unsupported
    returned = _type(callee.function_type.output)
    return writer.call(f"{op.CConv.cconv_name} ", returned, callee.sym_name.data, list(op.args))


def _branch(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.BrOp)
    assert op.parent is not None
    writer.enter(op.successor, list(op.arguments), op.parent)
    return f"br label {writer.blocks[op.successor]}"


def _conditional_branch(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.CondBrOp)
    assert op.parent is not None
    writer.enter(op.then_block, list(op.then_arguments), op.parent)
    writer.enter(op.else_block, list(op.else_arguments), op.parent)
    labels = ", ".join(f"label {writer.blocks[each]}" for each in (op.then_block, op.else_block))
    return f"br {writer.typed(op.cond)}, {labels}"


def _return(writer: _FunctionWriter, op: Operation) -> str:
    return f"ret {writer.typed(op.operands[0])}" if op.operands else "ret void"


def _insert_value(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.InsertValueOp)
    where = ", ".join(map(str, op.position.iter_values()))
    return f"insertvalue {writer.typed(op.container)}, {writer.typed(op.value)}, {where}"


def _extract_value(writer: _FunctionWriter, op: Operation) -> str:
    assert isinstance(op, llvm.ExtractValueOp)
    where = ", ".join(map(str, op.position.iter_values()))
    return f"extractvalue {writer.typed(op.container)}, {where}"


BINARY: Mapping[type[Operation], str] = {
    llvm.AddOp: "add",
    llvm.FAddOp: "fadd",
    llvm.SubOp: "sub",
    llvm.FSubOp: "fsub",
    llvm.MulOp: "mul",
    llvm.FMulOp: "fmul",
    llvm.UDivOp: "udiv",
    llvm.SDivOp: "sdiv",
    llvm.FDivOp: "fdiv",
    llvm.URemOp: "urem",
    llvm.SRemOp: "srem",
    llvm.FRemOp: "frem",
    llvm.ShlOp: "shl",
    llvm.LShrOp: "lshr",
    llvm.AShrOp: "ashr",
    llvm.AndOp: "and",
    llvm.OrOp: "or",
    llvm.XOrOp: "xor",
}

CASTS: Mapping[type[Operation], str] = {
    llvm.TruncOp: "trunc",
    llvm.ZExtOp: "zext",
    llvm.SExtOp: "sext",
    llvm.PtrToIntOp: "ptrtoint",
    llvm.IntToPtrOp: "inttoptr",
    llvm.BitcastOp: "bitcast",
    llvm.FPExtOp: "fpext",
    llvm.FPTruncOp: "fptrunc",
    llvm.SIToFPOp: "sitofp",
}

WRITERS: Mapping[type[Operation], _Writer] = {
    **{kind: _binary(name) for kind, name in BINARY.items()},
    **{kind: _cast(name) for kind, name in CASTS.items()},
    llvm.BrOp: _branch,
    llvm.CallIntrinsicOp: _intrinsic,
    llvm.CallOp: _call,
    llvm.CondBrOp: _conditional_branch,
    llvm.ExtractValueOp: _extract_value,
    llvm.FCmpOp: _float_comparison,
    llvm.FMAOp: _fma,
    llvm.GEPOp: _address,
    llvm.ICmpOp: _integer_comparison,
    llvm.InsertElementOp: _insert_element,
    llvm.InsertValueOp: _insert_value,
    llvm.LoadOp: _load,
    llvm.ReturnOp: _return,
    llvm.SelectOp: _select,
    llvm.ShuffleVectorOp: _shuffle,
    llvm.StoreOp: _store,
    vector_llvm.FCmpOp: _float_comparison,
    vector_llvm.SelectOp: _select,
}
