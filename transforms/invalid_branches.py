"""
Branches that have no valid shapes for the inputs that a model is compiled for.

Such a branch is none that runs on these inputs, or the model does not fit them. So it becomes an assertion
that fails, and values that are never read:

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
"""The attribute of a module that is compiled for certain shapes."""


def allow_invalid_branches(module: ModuleOp, of_shapes: bool = False) -> None:
    """Says that invalid branches, or only those whose shapes do not fit, are no error unless they run."""
    module.attributes[DROPS] = StringAttr("shapes") if of_shapes else UnitAttr()


def drops_invalid_branches(root: Operation) -> bool:
    """Whether a branch without valid shapes is no error unless it runs."""
    return DROPS in root.attributes


def drops_of_shapes(root: Operation) -> bool:
    """Whether that is so only where shapes contradict each other, not where another rule is broken."""
    return DROPS in root.attributes and root.attributes[DROPS] != UnitAttr()


def drop_branch(op: Operation, number: int, message: str) -> bool:
    """
    Puts an assertion in the place of a branch of an `onnx.If`; whether it could.

    Its results are of the types of those of the other branch, which have to be static.
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
