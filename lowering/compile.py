"""
From a simplified network to a loadable: the back end's stages as a table, and what they decided as a report.

Each stage is a pass of its own name that `onnx-opt` runs as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.lowering.convert_onnx_to_dla import convert
from xonnc.lowering.dla_allocate import Allocation, allocate
from xonnc.lowering.dla_fuse import fuse
from xonnc.lowering.dla_resolve_views import resolve_views
from xonnc.lowering.dla_schedule import schedule
from xonnc.lowering.dla_split import split
from xonnc.lowering.dla_to_loadable import loadable_of
from xonnc.lowering.report import CompileReport, report_of
from xonnc.targets import NvdlaTarget

Watcher = Callable[[str, ModuleOp], None]
"""Is told the name of each stage and the module as it is after it."""


@dataclass(frozen=True)
class CompiledLoadable:
    """A loadable, whose weights are packed while it is written, and the decisions behind it."""

    loadable: Loadable
    report: CompileReport


def compile_to_loadable(
    module: ModuleOp, target: NvdlaTarget, ctx: Context, watch: Watcher | None = None
) -> CompiledLoadable:
    """
    Compiles the network in `module`, which is changed on the way; `watch` sees every stage.

    `module` should be simplified (`simplify-onnx`). Raises `RefusalError` with everything that `target`
    cannot take.
    """
    pool = DisposablePool.of(ctx)
    seen = watch or _nobody
    convert(module, target, pool)
    seen("dla", module)
    resolve_views(module, target, pool)
    fuse(module, target)
    seen("fused", module)
    schedule(module, target)
    split(module, target)
    seen("scheduled", module)
    allocation: Allocation = allocate(module, target)
    seen("allocated", module)
    loadable = loadable_of(module, target)
    return CompiledLoadable(loadable, report_of(module, target, allocation))


def _nobody(stage: str, module: ModuleOp) -> None:
    """Watches nothing."""
