"""
Functions of the llvm dialect as C functions.

Blocks become loops again: a block that is jumped back to is the head of one. A value is a variable: a number,
or a vector of at least as many lanes as LLVM's has (`vector_types.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm.llvm_builder import PREFETCH
from xonnc.lowering.llvm_to_c.scalar_expressions import c_type, element, expression, lanes, literals
from xonnc.lowering.llvm_to_c.vector_functions import VectorFunctions
from xonnc.lowering.llvm_to_c.vector_operations import form_of, mask, truth
from xonnc.lowering.llvm_to_c.vector_types import Vector, holding


def c_function(function: llvm.FuncOp, vectors: VectorFunctions) -> str:
    """A function without result; what it calls is added to `vectors`."""
    return _Writer(function, vectors).text()


@dataclass(frozen=True)
class _Held:
    """A value in C."""

    text: str
    vector: Vector | None = None
    """None for a number. Truth values are 0 or 1 as numbers, in vectors all bits of integers of any width."""
    count: int = 1
    """Lanes that have a meaning."""
    splat: str = ""
    """The number that all lanes are, if that is known."""


class _Writer:
    def __init__(self, function: llvm.FuncOp, vectors: VectorFunctions) -> None:
        self._function = function
        self._vectors = vectors
        self._lines: list[str] = []
        self._depth = 1
        self._held: dict[SSAValue, _Held] = {}
        self._count = 0
        order = {block: number for number, block in enumerate(function.body.blocks)}
        self._heads = {
            target
            for block, number in order.items()
            if (end := block.last_op) is not None
            for target in end.successors
            if order[target] <= number
        }
        """Blocks that loops begin with."""
        self._open: set[Block] = set()
        self._dead = _dead(function)

    def text(self) -> str:
        arguments = self._function.body.blocks[0].args
        parameters = [f"{c_type(each.type)} a{number}" for number, each in enumerate(arguments)]
        for number, each in enumerate(arguments):
            self._held[each] = _Held(f"a{number}")
            if all(use.operation in self._dead for use in each.uses):
                self._line(f"(void)a{number};")
        self._block(self._function.body.blocks[0])
        head = f"XONNC_KERNEL void {self._function.sym_name.data}({', '.join(parameters)})"
        return "\n".join([head, "{", *self._lines, "}", ""])

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case llvm.ReturnOp():
                    pass
                case llvm.BrOp():
                    self._branch(op)
                case llvm.CondBrOp():
                    raise XonncError("C is written of loops alone; the kernel has another condition")
                case _:
                    self._op(op)

    def _branch(self, op: llvm.BrOp) -> None:
        head = op.successors[0]
        if head not in self._heads:
            raise XonncError("C is written of loops alone; the kernel has another jump")
        if head in self._open:
            self._assign(head.args, op.operands)
            return
        self._loop(head, op.operands)

    def _loop(self, head: Block, starts: Sequence[SSAValue]) -> None:
        """A loop from its first jump on; then what is behind it."""
        for argument, start in zip(head.args, starts, strict=True):
            held = self._held[start]
            self._fresh(argument, held.vector, held.text, is_fixed=False)
        end = head.last_op
        if not isinstance(end, llvm.CondBrOp) or end.then_arguments or end.else_arguments:
            raise XonncError("C is written of loops alone; one of the kernel ends in another way")
        self._open.add(head)
        first = head.first_op
        if isinstance(first, llvm.ICmpOp) and first.next_op is end:
            self._line(f"XONNC_ROLLED while ({self._number(first)}) {{")
            self._depth += 1
        else:
            self._line("XONNC_ROLLED for (;;) {")
            self._depth += 1
            for op in head.ops:
                if op is not end:
                    self._op(op)
            self._line(f"if (!{self._held[end.cond].text}) break;")
        self._block(end.then_block)
        self._depth -= 1
        self._line("}")
        self._open.remove(head)
        self._block(end.else_block)

    def _assign(self, arguments: Sequence[BlockArgument], values: Sequence[SSAValue]) -> None:
        """What the next iteration takes over; through a copy what another is made of."""
        carried = {self._held[argument].text for argument in arguments}
        late: list[str] = []
        for argument, given in zip(arguments, values, strict=True):
            target, value = self._held[argument], self._held[given]
            if target.vector is not None and value.vector != target.vector:
                value = self._masked(value, target.vector)
            if target.text == value.text:
                continue
            if value.text in carried:
                self._count += 1
                self._line(
                    f"const {self._c_type(argument.type, value.vector)} v{self._count} = {value.text};"
                )
                value = replace(value, text=f"v{self._count}")
            late.append(f"{target.text} = {value.text};")
        for text in late:
            self._line(text)

    def _c_type(self, type_: Attribute, vector: Vector | None) -> str:
        return c_type(element(type_)) if vector is None else self._vectors.use(vector).name

    def _fresh(self, value: SSAValue, vector: Vector | None, text: str, is_fixed: bool = True) -> None:
        """A variable for a value, which is fixed unless it is taken over from iteration to iteration."""
        self._count += 1
        name = f"v{self._count}"
        self._held[value] = _Held(name, vector, lanes(value.type))
        self._line(f"{'const ' if is_fixed else ''}{self._c_type(value.type, vector)} {name} = {text};")

    def _op(self, op: Operation) -> None:
        if op in self._dead:
            return
        match op:
            case llvm.ConstantOp():
                self._constant(op)
            case llvm.UndefOp():
                self._held[op.res] = self._splat("0", op.res.type)
            case llvm.InsertElementOp():
                # The other lanes may be anything, so they are the same number.
                if not isinstance(op.vector.owner, llvm.UndefOp):
                    raise XonncError("C has no llvm.insertelement into a vector; a shared library (.so) has")
                self._held[op.res] = self._splat(self._held[op.value].text, op.res.type)
            case llvm.ShuffleVectorOp():
                self._shuffle(op)
            case llvm.StoreOp():
                self._store(op)
            case llvm.LoadOp():
                self._load(op)
            case llvm.GEPOp():
                self._address(op)
            case _ if len(op.results) != 1:
                raise XonncError(f"C has no {op.name}; a shared library (.so) has")
            case _ if lanes(op.results[0].type) > 1:
                self._vector(op)
            case _:
                self._fresh(op.results[0], None, self._number(op))

    def _constant(self, op: llvm.ConstantOp) -> None:
        type_ = op.result.type
        numbers = literals(op.value, type_)
        if len(set(numbers)) == 1:
            self._held[op.result] = self._splat(numbers[0], type_)
            return
        vector = self._vector_of(type_)
        assert vector is not None
        numbers = [f"({vector.number})-{each}" for each in numbers] if element(type_) == i1 else numbers
        self._count += 1
        name = f"v{self._count}"
        self._line(f"static const {vector.number} {name}[{vector.lanes}] = {{{', '.join(numbers)}}};")
        load = self._vectors.load(vector, vector.lanes)
        self._held[op.result] = _Held(f"{load}((xonnc_bytes)(uintptr_t){name})", vector, len(numbers))

    def _vector_of(self, type_: Attribute) -> Vector | None:
        return holding(c_type(element(type_)), lanes(type_))

    def _splat(self, number: str, type_: Attribute) -> _Held:
        """A number in all lanes of a type."""
        vector = self._vector_of(type_)
        if vector is None:
            return _Held(number, splat=number)
        value = f"({vector.number})-{number}" if element(type_) == i1 else number
        return _Held(f"xonnc_splat_{self._vectors.use(vector).suffix}({value})", vector, lanes(type_), number)

    def _number(self, op: Operation) -> str:
        """What an op of numbers gives."""
        return expression(op, [self._held[operand].text for operand in op.operands])

    def _vector(self, op: Operation) -> None:
        """An op of vectors: as a whole, or number by number."""
        operands = [self._held[operand] for operand in op.operands]
        result = self._vector_of(op.results[0].type)
        assert result is not None
        is_truth = element(op.results[0].type) == i1
        if isinstance(op, llvm.SelectOp):
            result = operands[1].vector or result
            if operands[0].vector is None:
                condition, then, other = (each.text for each in operands)
                other = self._masked(operands[2], result).text
                self._fresh(op.results[0], result, f"{condition} ? {then} : {other}")
                return
            operands = [
                self._masked(each, result.bits if not place else result)
                for place, each in enumerate(operands)
            ]
        elif is_truth and operands[0].vector is not None:
            result = operands[0].vector.bits
            if element(op.operands[0].type) == i1:
                operands = [self._masked(each, result) for each in operands]
        elif isinstance(op, llvm.ZExtOp) and element(op.operands[0].type) == i1:
            held = self._masked(operands[0], result)
            name = self._vectors.whole(truth(), result, [result], lambda of: f"{of[0]} & 1u")
            self._fresh(op.results[0], result, f"{name}({held.text})")
            return
        types = [each.vector for each in operands if each.vector is not None]
        assert len(types) == len(operands), op.name

        def lane(texts: Sequence[str]) -> str:
            numbers = [
                f"({text} & 1u)" if element(operand.type) == i1 else text
                for text, operand in zip(texts, op.operands, strict=True)
            ]
            made = expression(op, numbers)
            return f"({result.number})-({made})" if is_truth else made

        form = form_of(op, result, types)
        if form is None:
            name = self._vectors.number_by_number(_stem(op), result, types, lane, operands[0].count)
        else:
            name = self._vectors.whole(form, result, types, lane)
        self._fresh(op.results[0], result, f"{name}({', '.join(each.text for each in operands)})")

    def _masked(self, held: _Held, vector: Vector) -> _Held:
        """Truth values in integers of another width; what is of this type stays."""
        if held.vector is None or held.vector == vector:
            return held
        cast = f"({vector.number})(int{vector.width}_t)(int{held.vector.width}_t)"
        name = self._vectors.whole(mask(), vector, [held.vector], lambda of: cast + of[0])
        return replace(held, text=f"{name}({held.text})", vector=vector)

    def _shuffle(self, op: llvm.ShuffleVectorOp) -> None:
        first, second = self._held[op.v1], self._held[op.v2]
        given = [int(lane) for lane in op.mask.get_values()]
        if first.splat and (max(given) < first.count or second.splat == first.splat):
            self._held[op.res] = self._splat(first.splat, op.res.type)
            return
        if first.vector is None or second.vector is None:
            if len(set(given)) > 1:
                raise XonncError("C has no llvm.shufflevector of numbers; a shared library (.so) has")
            held = first if given[0] < first.count else second
            self._held[op.res] = self._splat(held.text, op.res.type)
            return
        second = self._masked(second, first.vector)
        # Behind the lanes of the first vector that have a meaning, there may be others.
        places = [lane if lane < first.count else lane - first.count + first.vector.lanes for lane in given]
        result: Vector | str = first.vector.number
        vector = None
        if len(places) > 1:
            vector = result = Vector(first.vector.kind, 1 << (len(places) - 1).bit_length())
        name = self._vectors.pick(result, (first.vector, first.vector), places)
        text = f"{name}({first.text}, {second.text})"
        is_truth = element(op.res.type) == i1 and vector is None
        self._fresh(op.res, vector, f"{text} & 1u" if is_truth else text)

    def _address(self, op: llvm.GEPOp) -> None:
        place = (
            self._held[op.ssa_indices[0]].text
            if op.ssa_indices
            else f"{op.rawConstantIndices.get_values()[0]}"
        )
        size = f"(int64_t)sizeof({c_type(op.elem_type)})"
        offset = f"(int64_t){place}" if op.ssa_indices else place
        self._fresh(op.result, None, f"{self._held[op.ptr].text} + {offset} * {size}")

    def _load(self, op: llvm.LoadOp) -> None:
        value, pointer = op.dereferenced_value, self._held[op.ptr].text
        vector = self._vector_of(value.type)
        if vector is None:
            self._fresh(value, None, f"*(xonnc_{c_type(element(value.type))} *){pointer}")
        else:
            self._fresh(value, vector, f"{self._vectors.load(vector, lanes(value.type))}({pointer})")

    def _store(self, op: llvm.StoreOp) -> None:
        held, pointer = self._held[op.value], self._held[op.ptr].text
        if held.vector is None:
            self._line(f"*(xonnc_{c_type(element(op.value.type))} *){pointer} = {held.text};")
        else:
            self._line(f"{self._vectors.store(held.vector, held.count)}({pointer}, {held.text});")


def _stem(op: Operation) -> str:
    """What the name of a function for an op has of it."""
    if isinstance(op, llvm.CallIntrinsicOp):
        return op.intrin.data.split(".")[1]
    return op.name.split(".")[-1]


def _dead(function: llvm.FuncOp) -> set[Operation]:
    """
    Ops whose results nobody reads, or only such ops: C compilers warn of variables that are not read.

    Nor is memory brought into the caches, which C has no word for.
    """
    dead: set[Operation] = set()
    for block in reversed(list(function.body.blocks)):
        for op in reversed(list(block.ops)):
            is_hint = isinstance(op, llvm.CallIntrinsicOp) and op.intrin.data == PREFETCH
            has_reader = any(use.operation not in dead for result in op.results for use in result.uses)
            if is_hint or (op.results and not has_reader):
                dead.add(op)
    return dead
