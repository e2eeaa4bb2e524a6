"""Lowering of modules by the backends of plug-ins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.errors import RefusalError, XonncError
from xonnc.plugins.backend_declarations import Backend, Lowered
from xonnc.plugins.backend_nodes import BackendNode, NodeRefused


@dataclass(frozen=True)
class LoweredNode:
    """A node, and the ops that replaced it or the reason why the target cannot run it."""

    op: Operation
    """The node's op, which is erased if it was lowered."""
    node: str
    operator: str
    ops: Sequence[str]
    reason: str | None

    @property
    def refusal(self) -> str:
        """The reason in a line with the node's name."""
        return f"{self.node} ({self.operator}): {self.reason}"


def convert(module: ModuleOp, backend: Backend, target: Any) -> list[LoweredNode]:
    """
    Lower the nodes of a simplified module, in place; return what became of each.

    Raises `RefusalError` with every node that the target cannot run.
    """
    lowered = lower_nodes(module, backend, target)
    refused = [each for each in lowered if each.reason is not None]
    if refused:
        raise RefusalError([each.refusal for each in refused], [each.op for each in refused])
    try:
        module.verify()
    except VerifyException as error:
        raise XonncError(f"{backend} made invalid IR: {error}") from error
    return lowered


def lower_nodes(module: ModuleOp, backend: Backend, target: Any) -> list[LoweredNode]:
    """Lower the nodes that a target takes; the others stay as they are and are reported with the reason."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    ops = [op for function in functions for op in function.body.block.ops]
    return [_lowered(op, backend, target) for op in ops if isinstance(op, OnnxOp) and _is_node(op)]


def _is_node(op: OnnxOp) -> bool:
    return not isinstance(op, ConstantOp | NoValueOp | ReturnOp | EntryPointOp)


def _lowered(op: OnnxOp, backend: Backend, target: Any) -> LoweredNode:
    node = BackendNode(op)
    try:
        ops, results = _replacement(node, backend, target)
    except NodeRefused as refused:
        return LoweredNode(op, node.name, node.operator, (), str(refused))
    for each in ops:
        each.location = op.location
    Rewriter.replace_op(op, ops, results)
    return LoweredNode(op, node.name, node.operator, tuple(each.name for each in ops), None)


def _replacement(
    node: BackendNode, backend: Backend, target: Any
) -> tuple[Sequence[Operation], Sequence[SSAValue]]:
    """Return the ops and values that replace a node; raise `NodeRefused` if the target cannot run it."""
    function = backend.lowerings.get(node.operator)
    if function is None:
        known = ", ".join(sorted(backend.lowerings))
        raise NodeRefused(f"{target.name} has no such operator; it takes {known}")
    try:
        for constraint in backend.constraints:
            if not constraint.operators or node.operator in constraint.operators:
                reason = constraint.broken(node, target)
                if reason is not None:
                    raise NodeRefused(reason)
        found: Lowered = function(node, target)
    except (NodeRefused, XonncError):
        raise
    except Exception as error:
        raise XonncError(
            f"{node.name} ({node.operator}): {backend} raised {type(error).__name__}: {error}"
        ) from error
    if isinstance(found, SSAValue):
        ops, results = [], [found]
    else:
        ops = [found] if isinstance(found, Operation) else list(found)
        results = ops[-1].results if ops else ()
    if len(results) != len(node.op.results):
        raise XonncError(
            f"{node.name} ({node.operator}): {backend} gave {len(results)} values for "
            f"{len(node.op.results)} results"
        )
    return ops, results
