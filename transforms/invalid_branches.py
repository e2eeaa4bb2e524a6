"""
Replace branches without valid shapes by assertions.

With static input shapes, a branch of an If that contradicts them never runs, or the model does not accept
these inputs. The branch becomes an assertion that fails, and poison values:

```mlir
"onnx.If"(%c) ({ … }, {
  %false = arith.constant false
  cf.assert %false, "add: shapes [2, 2] and [3, 2] are not broadcast"
  %0 = ub.poison : tensor<2x2xf32>
  onnx.Yield %0 : tensor<2x2xf32>
}) : (tensor<i1>) -> tensor<2x2xf32>
```
"""

from __future__ import annotations

from xdsl.dialects import arith, cf, ub
from xdsl.dialects.builtin import BoolAttr, ModuleOp, StringAttr, UnitAttr, i1
from xdsl.ir import Operation

from xonnc.dialects.onnx.ops.builtin import YieldOp
from xonnc.dialects.onnx.types import static_shape

DROPS = "onnx.drops_invalid_branches"
"""Module attribute: invalid branches are errors at run time only."""


def allow_invalid_branches(module: ModuleOp, of_shapes: bool = False) -> None:
    """
    Make invalid branches, or only those of contradicting shapes, an error at run time instead of compile
    time.
    """
    module.attributes[DROPS] = StringAttr("shapes") if of_shapes else UnitAttr()


def drops_invalid_branches(root: Operation) -> bool:
    """Return whether an invalid branch is an error at run time only."""
    return DROPS in root.attributes


def drops_of_shapes(root: Operation) -> bool:
    """Return whether that holds for contradicting shapes only, not for other errors."""
    return DROPS in root.attributes and root.attributes[DROPS] != UnitAttr()


def drop_branch(op: Operation, number: int, message: str) -> bool:
    """
    Replace a branch of an `onnx.If` by an assertion that fails; return whether that was possible.

    The poison results have the types of the other branch's results, which must be static.
    """
    block, other = op.regions[number].block, op.regions[1 - number].block.last_op
    if other is None or any(static_shape(value.type) is None for value in other.operands):
        return False
    for inner in reversed(list(block.ops)):
        inner.detach()
        inner.erase()
    fails = arith.ConstantOp(BoolAttr.from_bool(False), i1)
    values = [ub.PoisonOp(value.type) for value in other.operands]
    end = YieldOp.create(operands=[value.result for value in values])
    block.add_ops([fails, cf.AssertOp(fails.result, message), *values, end])
    return True
