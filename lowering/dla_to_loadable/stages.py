"""
The stages of the DLA back end as a table, from a simplified network to a loadable, and the report.

Each stage consists of passes that `onnx-opt` runs too, under the names given here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool
from xonnc.errors import UnknownNameError, suggest
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.lowering.dla.dla_allocate import DlaAllocate
from xonnc.lowering.dla.dla_batch_images import DlaBatchImages
from xonnc.lowering.dla.dla_bubble_up_slices import DlaBubbleUpSlices
from xonnc.lowering.dla.dla_compress_weights import DlaCompressWeights
from xonnc.lowering.dla.dla_fuse import DlaFuse
from xonnc.lowering.dla.dla_order_branches import DlaOrderBranches
from xonnc.lowering.dla.dla_place_in_cvsram import DlaPlaceInCvsram
from xonnc.lowering.dla.dla_resolve_views import DlaResolveViews
from xonnc.lowering.dla.dla_schedule import DlaSchedule
from xonnc.lowering.dla.dla_share_constants import DlaShareConstants
from xonnc.lowering.dla.dla_skip_rows import DlaSkipRows
from xonnc.lowering.dla.dla_split import DlaSplit
from xonnc.lowering.dla.dla_split_kernels import DlaSplitKernels
from xonnc.lowering.dla.dla_use_winograd import DlaUseWinograd
from xonnc.lowering.dla_to_loadable.emit_loadable import loadable_of
from xonnc.lowering.dla_to_loadable.report import CompileReport, report_of
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import ConvertOnnxToDla, convert
from xonnc.rewriting.extensions import finish_stage
from xonnc.targets import load_target


def _bubble_up_slices(target: str = "") -> ModulePass:
    """Return a pass that does not depend on the target."""
    return DlaBubbleUpSlices()


def _share_constants(target: str = "") -> ModulePass:
    """Return a pass that does not depend on the target."""
    return DlaShareConstants()


def _allocate(target: str) -> ModulePass:
    """Return the pass with the allocator of `allocating_memory`."""
    return DlaAllocate(target, _ALLOCATOR.get())


STAGES: tuple[tuple[str, tuple[Callable[[str], ModulePass], ...]], ...] = (
    (
        "dla",
        (ConvertOnnxToDla, _bubble_up_slices, DlaSplitKernels, DlaBatchImages, DlaResolveViews, DlaFuse),
    ),
    (
        "scheduled",
        (
            _share_constants,
            DlaSkipRows,
            DlaSchedule,
            DlaOrderBranches,
            DlaUseWinograd,
            DlaCompressWeights,
            DlaSplit,
        ),
    ),
    ("allocated", (DlaPlaceInCvsram, _allocate)),
)
"""The stages between `simplified` and `emitted`, and the passes of each."""

OPTIONAL_PASSES: tuple[str, ...] = (
    DlaFuse.name,
    DlaShareConstants.name,
    DlaSkipRows.name,
    DlaOrderBranches.name,
    DlaUseWinograd.name,
    DlaCompressWeights.name,
    DlaPlaceInCvsram.name,
)
"""The passes without which a loadable is correct, but slower or larger."""

_DISABLED: ContextVar[frozenset[str]] = ContextVar("disabled DLA passes", default=frozenset())


_ALLOCATOR: ContextVar[str] = ContextVar("allocator of DLA memory", default="auto")


@contextmanager
def allocating_memory(mem_alloc: str) -> Generator[None]:
    """Assign addresses by an allocator in the block."""
    token = _ALLOCATOR.set(mem_alloc)
    try:
        yield
    finally:
        _ALLOCATOR.reset(token)


@contextmanager
def disabling_passes(names: Collection[str]) -> Generator[None]:
    """Leave out the passes `names` too in the block; raise `XonncError` for one that is not optional."""
    for name in names:
        require_optional_pass(name)
    token = _DISABLED.set(_DISABLED.get().union(names))
    try:
        yield
    finally:
        _DISABLED.reset(token)


def require_optional_pass(name: str) -> str:
    """Return the name of an optional pass; raise `UnknownNameError` for any other."""
    if name not in OPTIONAL_PASSES:
        hint = suggest(name, OPTIONAL_PASSES) or f"; those are {', '.join(OPTIONAL_PASSES)}"
        raise UnknownNameError(f"no pass '{name}' of NVDLA that may be disabled{hint}")
    return name


StageCallback = Callable[[str, ModuleOp], None]
"""Is told the name of each stage and shown the module as it is after it."""


@dataclass(frozen=True)
class CompiledLoadable:
    """A loadable, whose weights are packed while it is written, and the report."""

    loadable: Loadable
    report: CompileReport
    engines: Mapping[Operation, str]
    """The engine of each operator of the network, all of which are erased; `view` for none."""


def _stages_after_converting(target: str) -> Iterator[tuple[str, list[ModulePass]]]:
    """
    Yield the passes of each stage except `convert-onnx-to-dla`, which is run by `convert` to get the engines,
    and those that are disabled.
    """
    for stage, makers in STAGES:
        passes = [make_pass(target) for make_pass in makers if make_pass is not ConvertOnnxToDla]
        yield stage, [one for one in passes if one.name not in _DISABLED.get()]


def run_stages_after_converting(
    module: ModuleOp,
    target: str,
    ctx: Context,
    on_stage: StageCallback | None = None,
    live: Collection[DisposableElementsAttr] = (),
) -> None:
    """
    Run the stages on a module in the `dla` dialect, with the passes of plug-ins that joined them.

    Constants without users in `module` are freed, except those that are `live`.
    """
    pool = DisposablePool.of(ctx)
    for name, passes in _stages_after_converting(target):
        for one in passes:
            one.apply(ctx, module)
            pool.collect([module], live, rescan=False)
        finish_stage(name, ctx, module, on_stage or _ignore_stage)


def _ignore_stage(stage: str, module: ModuleOp) -> None:
    """Do nothing."""


def compile_to_loadable(
    module: ModuleOp,
    target: str,
    ctx: Context,
    on_stage: StageCallback | None = None,
    live: Collection[DisposableElementsAttr] = (),
) -> CompiledLoadable:
    """
    Compile the network in `module`, which is changed on the way, for the target called (or in the file)
    `target`.

    `module` should be simplified (`simplify-onnx`). Raises `RefusalError` with everything that the target
    cannot take, `XonncError` for an unknown target. Constants that a pass leaves without users in `module`
    are freed, except those that are `live`.
    """
    engines = convert(module, load_target(target), DisposablePool.of(ctx))
    return compile_converted(module, target, ctx, engines, on_stage, live)


def compile_converted(
    module: ModuleOp,
    target: str,
    ctx: Context,
    engines: Mapping[Operation, str],
    on_stage: StageCallback | None = None,
    live: Collection[DisposableElementsAttr] = (),
) -> CompiledLoadable:
    """
    Compile the network in `module`, which `convert` has lowered; `engines` are those that it returned.

    Other parameters and errors are those of `compile_to_loadable`.
    """
    hardware = load_target(target)
    run_stages_after_converting(module, target, ctx, on_stage, live)
    loadable = loadable_of(module, hardware)
    return CompiledLoadable(loadable, report_of(module, hardware, loadable), engines)
