"""
Functions of the llvm dialect as C functions.

Blocks become loops again: a block that is jumped back to is the head of one. A vector is as many variables as
it has lanes, so that any C11 compiler takes the code and one that knows vectors finds them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xonnc.errors import XonncError
from xonnc.lowering.llvm_to_c.expressions import c_type, element, expression, lanes, literals


def c_function(function: llvm.FuncOp) -> str:
    """A function without result."""
    return _Writer(function).text()


class _Writer:
    def __init__(self, function: llvm.FuncOp) -> None:
        self._function = function
        self._lines: list[str] = []
        self._depth = 1
        self._names: dict[SSAValue, Sequence[str]] = {}
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
        arguments = self._function.body.block.args if len(self._function.body.blocks) == 1 else None
        arguments = self._function.body.blocks[0].args if arguments is None else arguments
        parameters = [f"{c_type(each.type)} a{number}" for number, each in enumerate(arguments)]
        for number, each in enumerate(arguments):
            self._names[each] = [f"a{number}"]
        for number, each in enumerate(arguments):
            if all(use.operation in self._dead for use in each.uses):
                self._line(f"(void)a{number};")
        self._block(self._function.body.blocks[0])
        head = f"static void {self._function.sym_name.data}({', '.join(parameters)})"
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
            names = self._fresh(argument)
            for name, value in zip(names, self._values(start), strict=True):
                self._line(f"{c_type(element(argument.type))} {name} = {value};")
        end = head.last_op
        if not isinstance(end, llvm.CondBrOp) or end.then_arguments or end.else_arguments:
            raise XonncError("C is written of loops alone; one of the kernel ends in another way")
        self._open.add(head)
        first = head.first_op
        if isinstance(first, llvm.ICmpOp) and first.next_op is end:
            self._line(f"while ({self._expressions(first)[0]}) {{")
            self._depth += 1
        else:
            self._line("for (;;) {")
            self._depth += 1
            for op in head.ops:
                if op is not end:
                    self._op(op)
            self._line(f"if (!{self._values(end.cond)[0]}) break;")
        self._block(end.then_block)
        self._depth -= 1
        self._line("}")
        self._open.remove(head)
        self._block(end.else_block)

    def _assign(self, arguments: Sequence[BlockArgument], values: Sequence[SSAValue]) -> None:
        """What the next turn takes over; through a copy what another is made of."""
        carried = {name for argument in arguments for name in self._names[argument]}
        pairs = [
            (name, value, c_type(element(argument.type)))
            for argument, given in zip(arguments, values, strict=True)
            for name, value in zip(self._names[argument], self._values(given), strict=True)
            if name != value
        ]
        late: list[str] = []
        for name, value, type_ in pairs:
            if value in carried:
                self._count += 1
                self._line(f"const {type_} v{self._count} = {value};")
                value = f"v{self._count}"
            late.append(f"{name} = {value};")
        for text in late:
            self._line(text)

    def _fresh(self, value: SSAValue) -> Sequence[str]:
        """Names for all lanes of a value."""
        self._count += 1
        count = lanes(value.type)
        names = [f"v{self._count}" if count == 1 else f"v{self._count}_{lane}" for lane in range(count)]
        self._names[value] = names
        return names

    def _values(self, value: SSAValue) -> Sequence[str]:
        return self._names[value]

    def _op(self, op: Operation) -> None:
        if op in self._dead:
            return
        match op:
            case llvm.ConstantOp():
                self._names[op.result] = literals(op.value, op.result.type)
            case llvm.UndefOp():
                self._names[op.res] = ["0"] * lanes(op.res.type)
            case llvm.InsertElementOp():
                (lane,) = self._values(op.index)
                held = list(self._values(op.vector))
                held[int(lane.rstrip("u"))] = self._values(op.value)[0]
                self._names[op.res] = held
            case llvm.ShuffleVectorOp():
                held = [*self._values(op.v1), *self._values(op.v2)]
                self._names[op.res] = [held[lane] for lane in op.mask.get_values()]
            case llvm.StoreOp():
                self._store(op)
            case llvm.LoadOp():
                self._load(op)
            case llvm.GEPOp():
                self._address(op)
            case _ if len(op.results) == 1:
                type_ = c_type(element(op.results[0].type))
                texts = self._expressions(op)
                for name, text in zip(self._fresh(op.results[0]), texts, strict=True):
                    self._line(f"const {type_} {name} = {text};")
            case _:
                raise XonncError(f"C has no {op.name}; a shared library (.so) has")

    def _expressions(self, op: Operation) -> list[str]:
        """What an op gives, lane by lane."""
        operands = [self._values(operand) for operand in op.operands]
        count = lanes(op.results[0].type)
        return [
            expression(op, [held[lane] if len(held) == count else held[0] for held in operands])
            for lane in range(count)
        ]

    def _address(self, op: llvm.GEPOp) -> None:
        place = (
            self._values(op.ssa_indices[0])[0] if op.ssa_indices else op.rawConstantIndices.get_values()[0]
        )
        size = f"(int64_t)sizeof({c_type(op.elem_type)})"
        name = self._fresh(op.result)[0]
        base = self._values(op.ptr)[0]
        offset = f"(int64_t){place}" if op.ssa_indices else f"{place}"
        self._line(f"const xonnc_bytes {name} = {base} + {offset} * {size};")

    def _load(self, op: llvm.LoadOp) -> None:
        type_ = c_type(element(op.dereferenced_value.type))
        pointer = self._values(op.ptr)[0]
        for lane, name in enumerate(self._fresh(op.dereferenced_value)):
            self._line(f"const {type_} {name} = ((xonnc_{type_} *){pointer})[{lane}];")

    def _store(self, op: llvm.StoreOp) -> None:
        type_ = c_type(element(op.value.type))
        pointer = self._values(op.ptr)[0]
        for lane, value in enumerate(self._values(op.value)):
            self._line(f"((xonnc_{type_} *){pointer})[{lane}] = {value};")


def _dead(function: llvm.FuncOp) -> set[Operation]:
    """Ops whose results nobody reads, or only such ops: C compilers warn of variables that are not read."""
    dead: set[Operation] = set()
    for block in reversed(list(function.body.blocks)):
        for op in reversed(list(block.ops)):
            if op.results and all(use.operation in dead for result in op.results for use in result.uses):
                dead.add(op)
    return dead
