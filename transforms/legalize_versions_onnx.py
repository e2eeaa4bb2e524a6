"""
`legalize-versions-onnx`: old forms of operators as newer ones, so that targets need to know no others.

```mlir
%y = "onnx.ResizeV10"(%x, %scales) <{mode = "nearest"}>
```
becomes an `onnx.ResizeV13` with the coordinates that opset 10 had. A model must still have an opset that all
its operators are of: where one has to stay as it is, others go no further than that allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.tensor import UpsampleOp
from xonnc.rewriting.conversion import convert
from xonnc.rewriting.extensions import rules_joining
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.rules.legalize_versions import RULES
from xonnc.transforms.shape_inference_onnx import infer_shapes

SUCCEEDED: dict[type[Operation], int] = {UpsampleOp: 10}
"""Operators that have no end because ONNX only advises against them, and when another took their place."""


@dataclass(frozen=True)
class LegalizeVersions(ModulePass):
    """Replaces old forms of operators by newer ones that mean the same."""

    name = "legalize-versions-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        legalize_versions(op, ctx)


def legalize_versions(module: ModuleOp, context: Context) -> bool:
    """Replaces old forms in `module`; whether there were any."""
    roots = [RULES.by_root]
    if (joined := rules_joining(LegalizeVersions.name)) is not None:
        roots.append(joined.by_root)
    if not any(kind in table for kind in map(type, module.walk()) for table in roots):
        return False
    # What stays is known only after trying: rules decline by shapes and properties.
    trial = module.clone()
    convert(trial, context, RULES, pass_name=LegalizeVersions.name)
    legal = up_to(min(_ends(trial), default=inf))
    changed = convert(module, context, legal, pass_name=LegalizeVersions.name)
    infer_shapes(module)
    return bool(changed)


def up_to(opset: float) -> RuleSet:
    """The rules for forms that have ended by that opset: what they lead to exists from there on."""
    later = [rule.name for kind, alike in RULES.by_root.items() if _end_of(kind) > opset for rule in alike]
    return RULES.without(later)


def _ends(module: ModuleOp) -> Iterator[int]:
    """The last opset of every form in a module that has one."""
    for op in module.walk():
        if isinstance(op, OnnxOp) and not op.DOMAIN and op.UNTIL is not None:
            yield op.UNTIL - 1


def _end_of(kind: type[Operation]) -> int:
    """The first opset in which another form takes the place of this one."""
    if kind in SUCCEEDED:
        return SUCCEEDED[kind]
    assert issubclass(kind, OnnxOp), "rules are about operators of ONNX"
    assert kind.UNTIL is not None, "only old forms are replaced"
    return kind.UNTIL
