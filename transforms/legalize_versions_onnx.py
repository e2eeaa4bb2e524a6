"""
`legalize-versions-onnx`: convert old versions of operators to newer ones.

```mlir
%y = "onnx.ResizeV10"(%x, %scales) <{mode = "nearest"}>
```
becomes an `onnx.ResizeV13` with the coordinate transformation of opset 10. All operators of a model must
belong to one opset: an operator that cannot be converted limits how far the others are.
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
"""Deprecated operators without an end version, and the opset of their successor."""


@dataclass(frozen=True)
class LegalizeVersions(ModulePass):
    """Convert old versions of operators to equivalent newer ones."""

    name = "legalize-versions-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        legalize_versions(op, ctx)


def legalize_versions(module: ModuleOp, context: Context) -> bool:
    """Convert old versions of operators in `module`; return whether there were any."""
    roots = [RULES.by_root]
    if (joined := rules_joining(LegalizeVersions.name)) is not None:
        roots.append(joined.by_root)
    if not any(kind in table for kind in map(type, module.walk()) for table in roots):
        return False
    # Which ops cannot be converted is known only after a trial: rules fail on shapes and properties.
    trial = module.clone()
    convert(trial, context, RULES, pass_name=LegalizeVersions.name)
    legal = up_to(newest_opset_of(trial))
    changed = convert(module, context, legal, pass_name=LegalizeVersions.name)
    infer_shapes(module)
    return bool(changed)


def up_to(opset: float) -> RuleSet:
    """Return the rules for versions that ended by `opset`: their replacements exist from there on."""
    later = [rule.name for kind, alike in RULES.by_root.items() if _end_of(kind) > opset for rule in alike]
    return RULES.without(later)


def newest_opset_of(module: ModuleOp) -> float:
    """Return the last opset that has every operator of `module`, infinity if none has been replaced."""
    return min(_ends(module), default=inf)


def _ends(module: ModuleOp) -> Iterator[int]:
    """Yield the last opset of every versioned op in a module."""
    for op in module.walk():
        if isinstance(op, OnnxOp) and not op.DOMAIN and op.UNTIL is not None:
            yield op.UNTIL - 1


def _end_of(kind: type[Operation]) -> int:
    """Return the first opset without this version."""
    if kind in SUCCEEDED:
        return SUCCEEDED[kind]
    assert issubclass(kind, OnnxOp), "rules are about operators of ONNX"
    assert kind.UNTIL is not None, "only old forms are replaced"
    return kind.UNTIL
