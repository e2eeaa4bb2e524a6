"""
Print functions of the llvm dialect as C functions.

Control flow is structured again: the target of a back edge is the header of a loop. Each SSA value becomes a
C variable: a scalar, or a vector with the number of lanes rounded up to a power of two (`vector_types.py`).
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
from xonnc.lowering.llvm_to_c.vector_operations import mask, mask_to_boolean, vector_operation
from xonnc.lowering.llvm_to_c.vector_types import VectorType, smallest_vector


def c_function(function: llvm.FuncOp, vectors: VectorFunctions) -> str:
    """Return a void function as C; the vector functions that it calls are added to `vectors`."""
    return _FunctionWriter(function, vectors).text()


@dataclass(frozen=True)
class _CValue:
    """An SSA value as a C expression."""

    text: str
    vector: VectorType | None = None
    """`None` for a scalar. A boolean is 0 or 1; in a vector it is a mask, all bits of an integer lane."""
    count: int = 1
    """Number of lanes of the LLVM type; the lanes after these are undefined."""
    splat: str = ""
    """The scalar in all lanes, if the value is a splat."""


class _FunctionWriter:
    def __init__(self, function: llvm.FuncOp, vectors: VectorFunctions) -> None:
        self._function = function
        self._vectors = vectors
        self._lines: list[str] = []
        self._depth = 1
        self._values: dict[SSAValue, _CValue] = {}
        self._count = 0
        order = {block: number for number, block in enumerate(function.body.blocks)}
        self._heads = {
            target
            for block, number in order.items()
            if (end := block.last_op) is not None
            for target in end.successors
            if order[target] <= number
        }
        """Loop headers: the targets of back edges."""
        self._open: set[Block] = set()
        self._dead_operations = _dead_operations(function)

    def text(self) -> str:
        arguments = self._function.body.blocks[0].args
        parameters = [f"{c_type(each.type)} a{number}" for number, each in enumerate(arguments)]
        for number, each in enumerate(arguments):
            self._values[each] = _CValue(f"a{number}")
            if all(use.operation in self._dead_operations for use in each.uses):
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
                    raise XonncError(
                        "C output supports structured loops only; the kernel has another conditional branch"
                    )
                case _:
                    self._op(op)

    def _branch(self, op: llvm.BrOp) -> None:
        head = op.successors[0]
        if head not in self._heads:
            raise XonncError("C output supports structured loops only; the kernel has another branch")
        if head in self._open:
            self._assign(head.args, op.operands)
            return
        self._loop(head, op.operands)

    def _loop(self, head: Block, starts: Sequence[SSAValue]) -> None:
        """Print a loop, then the code after it."""
        for argument, start in zip(head.args, starts, strict=True):
            value = self._values[start]
            self._new_variable(argument, value.vector, value.text, is_fixed=False)
        end = head.last_op
        if not isinstance(end, llvm.CondBrOp) or end.then_arguments or end.else_arguments:
            raise XonncError("C output supports structured loops only; a loop of the kernel has another exit")
        self._open.add(head)
        first = head.first_op
        if isinstance(first, llvm.ICmpOp) and first.next_op is end:
            self._line(f"XONNC_ROLLED while ({self._scalar_text(first)}) {{")
            self._depth += 1
        else:
            self._line("XONNC_ROLLED for (;;) {")
            self._depth += 1
            for op in head.ops:
                if op is not end:
                    self._op(op)
            self._line(f"if (!{self._values[end.cond].text}) break;")
        self._block(end.then_block)
        self._depth -= 1
        self._line("}")
        self._open.remove(head)
        self._block(end.else_block)

    def _assign(self, arguments: Sequence[BlockArgument], values: Sequence[SSAValue]) -> None:
        """Assign the loop-carried variables in parallel: copy those that another assignment still reads."""
        carried = {self._values[argument].text for argument in arguments}
        late: list[str] = []
        for argument, given in zip(arguments, values, strict=True):
            target, value = self._values[argument], self._values[given]
            if target.vector is not None and value.vector != target.vector:
                value = self._with_mask_width(value, target.vector)
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

    def _c_type(self, type_: Attribute, vector: VectorType | None) -> str:
        return c_type(element(type_)) if vector is None else self._vectors.use(vector).name

    def _new_variable(
        self, value: SSAValue, vector: VectorType | None, text: str, is_fixed: bool = True
    ) -> None:
        """Define a variable for a value; it is const unless it is loop-carried."""
        self._count += 1
        name = f"v{self._count}"
        self._values[value] = _CValue(name, vector, lanes(value.type))
        self._line(f"{'const ' if is_fixed else ''}{self._c_type(value.type, vector)} {name} = {text};")

    def _op(self, op: Operation) -> None:
        if op in self._dead_operations:
            return
        match op:
            case llvm.ConstantOp():
                self._constant(op)
            case llvm.UndefOp():
                self._values[op.res] = self._splat("0", op.res.type)
            case llvm.InsertElementOp():
                # The other lanes are undefined (insertion into undef), so a splat is valid.
                if not isinstance(op.vector.owner, llvm.UndefOp):
                    raise XonncError("C has no llvm.insertelement into a vector; a shared library (.so) has")
                self._values[op.res] = self._splat(self._values[op.value].text, op.res.type)
            case llvm.ShuffleVectorOp():
                self._shuffle(op)
            case llvm.StoreOp() | llvm.LoadOp() | llvm.GEPOp() | llvm.AllocaOp():
                self._memory_op(op)
            case _ if len(op.results) != 1:
                raise XonncError(f"C has no {op.name}; a shared library (.so) has")
            case _ if lanes(op.results[0].type) > 1:
                self._vector_op(op)
            case _:
                self._new_variable(op.results[0], None, self._scalar_text(op))

    def _constant(self, op: llvm.ConstantOp) -> None:
        type_ = op.result.type
        numbers = literals(op.value, type_)
        if len(set(numbers)) == 1:
            self._values[op.result] = self._splat(numbers[0], type_)
            return
        vector = self._vector_of(type_)
        assert vector is not None
        numbers = [f"({vector.scalar_type})-{each}" for each in numbers] if element(type_) == i1 else numbers
        self._count += 1
        name = f"v{self._count}"
        self._line(f"static const {vector.scalar_type} {name}[{vector.lanes}] = {{{', '.join(numbers)}}};")
        load = self._vectors.load(vector, vector.lanes)
        self._values[op.result] = _CValue(f"{load}((xonnc_bytes)(uintptr_t){name})", vector, len(numbers))

    def _vector_of(self, type_: Attribute) -> VectorType | None:
        return smallest_vector(c_type(element(type_)), lanes(type_))

    def _splat(self, number: str, type_: Attribute) -> _CValue:
        """Return a scalar broadcast to a vector type."""
        vector = self._vector_of(type_)
        if vector is None:
            return _CValue(number, splat=number)
        value = f"({vector.scalar_type})-{number}" if element(type_) == i1 else number
        return _CValue(
            f"xonnc_splat_{self._vectors.use(vector).suffix}({value})", vector, lanes(type_), number
        )

    def _scalar_text(self, op: Operation) -> str:
        """Return the expression of a scalar operation."""
        return expression(op, [self._values[operand].text for operand in op.operands])

    def _vector_op(self, op: Operation) -> None:
        """Print an operation on vectors: by a vector expression, or elementwise."""
        operands = [self._values[operand] for operand in op.operands]
        result = self._vector_of(op.results[0].type)
        assert result is not None
        is_boolean = element(op.results[0].type) == i1
        if isinstance(op, llvm.SelectOp):
            result = operands[1].vector or result
            if operands[0].vector is None:
                condition, then, other = (each.text for each in operands)
                other = self._with_mask_width(operands[2], result).text
                self._new_variable(op.results[0], result, f"{condition} ? {then} : {other}")
                return
            operands = [
                self._with_mask_width(each, result.bits if not index else result)
                for index, each in enumerate(operands)
            ]
        elif is_boolean and operands[0].vector is not None:
            result = operands[0].vector.bits
            if element(op.operands[0].type) == i1:
                operands = [self._with_mask_width(each, result) for each in operands]
        elif isinstance(op, llvm.ZExtOp) and element(op.operands[0].type) == i1:
            value = self._with_mask_width(operands[0], result)
            name = self._vectors.vectorized(mask_to_boolean(), result, [result], lambda of: f"{of[0]} & 1u")
            self._new_variable(op.results[0], result, f"{name}({value.text})")
            return
        types = [each.vector for each in operands if each.vector is not None]
        assert len(types) == len(operands), op.name

        def lane(texts: Sequence[str]) -> str:
            numbers = [
                f"({text} & 1u)" if element(operand.type) == i1 else text
                for text, operand in zip(texts, op.operands, strict=True)
            ]
            made = expression(op, numbers)
            return f"({result.scalar_type})-({made})" if is_boolean else made

        form = vector_operation(op, result, types)
        if form is None:
            name = self._vectors.elementwise(_operation_stem(op), result, types, lane, operands[0].count)
        else:
            name = self._vectors.vectorized(form, result, types, lane)
        self._new_variable(op.results[0], result, f"{name}({', '.join(each.text for each in operands)})")

    def _with_mask_width(self, value: _CValue, vector: VectorType) -> _CValue:
        """Convert a mask to lanes of another width; other values are returned as they are."""
        if value.vector is None or value.vector == vector:
            return value
        cast = f"({vector.scalar_type})(int{vector.width}_t)(int{value.vector.width}_t)"
        name = self._vectors.vectorized(mask(), vector, [value.vector], lambda of: cast + of[0])
        return replace(value, text=f"{name}({value.text})", vector=vector)

    def _shuffle(self, op: llvm.ShuffleVectorOp) -> None:
        first, second = self._values[op.v1], self._values[op.v2]
        given = [int(lane) for lane in op.mask.get_values()]
        if first.splat and (max(given) < first.count or second.splat == first.splat):
            self._values[op.res] = self._splat(first.splat, op.res.type)
            return
        if first.vector is None or second.vector is None:
            if len(set(given)) > 1:
                raise XonncError("C has no llvm.shufflevector of scalars; a shared library (.so) has")
            value = first if given[0] < first.count else second
            self._values[op.res] = self._splat(value.text, op.res.type)
            return
        second = self._with_mask_width(second, first.vector)
        # Lane indices of the second operand count from the lanes of the LLVM type; in C the first vector may
        # have more lanes.
        lanes_of_operands = [
            lane if lane < first.count else lane - first.count + first.vector.lanes for lane in given
        ]
        result: VectorType | str = first.vector.scalar_type
        vector = None
        if len(lanes_of_operands) > 1:
            vector = result = VectorType(first.vector.kind, 1 << (len(lanes_of_operands) - 1).bit_length())
        name = self._vectors.pick(result, (first.vector, first.vector), lanes_of_operands)
        text = f"{name}({first.text}, {second.text})"
        is_boolean = element(op.res.type) == i1 and vector is None
        self._new_variable(op.res, vector, f"{text} & 1u" if is_boolean else text)

    def _address(self, op: llvm.GEPOp) -> None:
        index = (
            self._values[op.ssa_indices[0]].text
            if op.ssa_indices
            else f"{op.rawConstantIndices.get_values()[0]}"
        )
        size = f"(int64_t)sizeof({c_type(op.elem_type)})"
        offset = f"(int64_t){index}" if op.ssa_indices else index
        self._new_variable(op.result, None, f"{self._values[op.ptr].text} + {offset} * {size}")

    def _memory_op(self, op: llvm.StoreOp | llvm.LoadOp | llvm.GEPOp | llvm.AllocaOp) -> None:
        match op:
            case llvm.StoreOp():
                self._store(op)
            case llvm.LoadOp():
                self._load(op)
            case llvm.GEPOp():
                self._address(op)
            case llvm.AllocaOp():
                self._stack_space(op)

    def _stack_space(self, op: llvm.AllocaOp) -> None:
        """Define an array, for as long as the function runs."""
        self._count += 1
        count, array = self._values[op.size].text, f"v{self._count}"
        kind = c_type(element(op.elem_type))
        assert op.alignment is not None
        self._line(f"_Alignas({op.alignment.value.data}) {kind} {array}[{count}];")
        self._new_variable(op.res, None, f"({c_type(op.res.type)}){array}")

    def _load(self, op: llvm.LoadOp) -> None:
        value, pointer = op.dereferenced_value, self._values[op.ptr].text
        vector = self._vector_of(value.type)
        if vector is None:
            self._new_variable(value, None, f"*(xonnc_{c_type(element(value.type))} *){pointer}")
        else:
            self._new_variable(value, vector, f"{self._vectors.load(vector, lanes(value.type))}({pointer})")

    def _store(self, op: llvm.StoreOp) -> None:
        value, pointer = self._values[op.value], self._values[op.ptr].text
        if value.vector is None:
            self._line(f"*(xonnc_{c_type(element(op.value.type))} *){pointer} = {value.text};")
        else:
            self._line(f"{self._vectors.store(value.vector, value.count)}({pointer}, {value.text});")


def _operation_stem(op: Operation) -> str:
    """Return the part of a C function name that identifies an operation."""
    if isinstance(op, llvm.CallIntrinsicOp):
        return op.intrin.data.split(".")[1]
    return op.name.split(".")[-1]


def _dead_operations(function: llvm.FuncOp) -> set[Operation]:
    """
    Return operations whose results are unused, which C compilers would warn about.

    Prefetches, for which C has no standard form, are among them.
    """
    dead: set[Operation] = set()
    for block in reversed(list(function.body.blocks)):
        for op in reversed(list(block.ops)):
            is_hint = isinstance(op, llvm.CallIntrinsicOp) and op.intrin.data == PREFETCH
            has_reader = any(use.operation not in dead for result in op.results for use in result.uses)
            if is_hint or (op.results and not has_reader):
                dead.add(op)
    return dead
