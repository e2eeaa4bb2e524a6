"""Operators of onnxruntime that no plug-in has: why there is no kernel, and what to do instead."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.errors import RefusalError
from xonnc.lowering.onnx_to_krnl.planning.session_ops import is_session_op

TOKEN_LOOPS = frozenset("BeamSearch GreedySearch Sampling WhisperBeamSearch".split())
"""Operators of com.microsoft that run a decoder, a graph among their attributes, once for each token."""

LAID_OUT = frozenset(("com.microsoft.nchwc", "com.ms.internal.nhwc"))
"""Domains of onnxruntime whose operators read blocks of channels or channels last: models that it saved."""


def reason_without_kernel(op: CustomOp) -> str:
    """Return why an operator that ONNX does not have has no kernel."""
    name = f"{op.function_name.data} of {op.domain or 'ai.onnx'}"
    if op.domain == "com.microsoft" and op.function_name.data in TOKEN_LOOPS:
        return (
            f"{name} chooses tokens in a loop; compile the graph of its attribute 'decoder' as a model, "
            "and choose tokens in a program"
        )
    if op.domain in LAID_OUT:
        return (
            f"{name} has the layout of the processor that onnxruntime saved the model on; compile the model "
            "that it was given, or save with ORT_ENABLE_EXTENDED"
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
