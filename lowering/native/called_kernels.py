"""The kernels of a module and their calls."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xonnc.dialects.krnl.memory import CallOp


def called_kernels(module: ModuleOp) -> list[tuple[FuncOp, list[CallOp]]]:
    """Return the kernels that functions of a module call, with their calls, in order."""
    kernels = {each.sym_name.data: each for each in module.ops if isinstance(each, FuncOp)}
    calls: dict[str, list[CallOp]] = {}
    for each in module.walk():
        if isinstance(each, CallOp):
            calls.setdefault(each.func_name.data, []).append(each)
    return [
        (kernel, own)
        for name, own in calls.items()
        if (kernel := kernels.get(name)) is not None and not kernel.is_declaration
    ]
