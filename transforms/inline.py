"""
`inline`: replace calls of functions by their bodies.

```mlir
%y = func.call @relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
```
becomes the ops of `@relu`, if that has one block and does not call itself, directly or through others.
Private functions that are no longer called are erased, as by MLIR's pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from xonnc.transforms.symbol_dce import erase_dead_symbols


@dataclass(frozen=True)
class Inline(ModulePass):
    """Replace calls of functions by their bodies."""

    name = "inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        callable_ = {name: each for name, each in functions.items() if _can_inline(each, functions)}
        calls = [each for each in op.walk() if _callee(each, callable_) is not None]
        while calls:
            call = calls.pop()
            callee = _callee(call, callable_)
            assert callee is not None, "only calls of these functions are in the list"
            calls += [each for each in _inline(call, callee) if _callee(each, callable_) is not None]
        erase_dead_symbols(op)


def _callee(op: Operation, functions: dict[str, FuncOp]) -> FuncOp | None:
    return functions.get(op.callee.root_reference.data) if isinstance(op, CallOp) else None


def _can_inline(function: FuncOp, functions: dict[str, FuncOp]) -> bool:
    """Whether a function has one block, with a terminator, and is not recursive."""
    if len(function.body.blocks) != 1:
        return False
    last = function.body.block.last_op
    return last is not None and last.has_trait(IsTerminator) and function not in _called(function, functions)


def _called(function: FuncOp, functions: dict[str, FuncOp]) -> set[FuncOp]:
    """Return the functions that a function calls, directly or through others."""
    found: set[FuncOp] = set()
    waiting = [function]
    while waiting:
        for op in waiting.pop().walk():
            callee = _callee(op, functions)
            if callee is not None and callee not in found:
                found.add(callee)
                waiting.append(callee)
    return found


def _inline(call: Operation, callee: FuncOp) -> list[Operation]:
    """Replace a call by copies of the ops of its function; return the calls among them."""
    block = callee.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands, strict=True))
    end = block.last_op
    assert end is not None, "functions that are inlined have a terminator"
    copies = [op.clone(value_mapper=values) for op in block.ops if op is not end]
    assert call.parent is not None, "calls are in a function"
    call.parent.insert_ops_before(copies, call)
    for result, returned in zip(call.results, end.operands, strict=True):
        result.replace_all_uses_with(values.get(returned, returned))
    call.detach()
    call.erase()
    return [op for copy in copies for op in copy.walk()]
