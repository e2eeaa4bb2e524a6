"""Operators of onnxruntime that no plug-in has: why there is no kernel, and what to do instead."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.errors import RefusalError
from xonnc.lowering.onnx_to_krnl.planning.session_ops import is_session_op

TOKEN_LOOPS = frozenset("BeamSearch GreedySearch Sampling WhisperBeamSearch".split())
"""Operators of com.microsoft that run a decoder, a graph among their attributes, once for each token."""


def reason_without_kernel(op: CustomOp) -> str:
    """Return why an operator that ONNX does not have has no kernel."""
    name = f"{op.function_name.data} of {op.domain or 'ai.onnx'}"
    if op.domain == "com.microsoft" and op.function_name.data in TOKEN_LOOPS:
        return (
            f"{name} chooses tokens in a loop; compile the graph of its attribute 'decoder' as a model, "
            "and choose tokens in a program"
        )
    return f"{name} is not implemented; a plug-in can add it (--plugin FILE, docs/plugins.md)"


def require_implementations(module: ModuleOp) -> None:
    """Raise `RefusalError` with every operator that nothing can compute, whatever its shapes are."""
    reasons = [
        f"{describe(op)}: {reason_without_kernel(op)}"
        for op in module.walk()
        if isinstance(op, CustomOp) and not is_session_op(op)
    ]
    if reasons:
        raise RefusalError(reasons)
