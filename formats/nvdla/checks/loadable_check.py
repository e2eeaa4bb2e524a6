"""Static check of a loadable for a target, without running it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from xonnc.argument_types import checks_arguments
from xonnc.errors import RefusalError, XonncError
from xonnc.formats.nvdla.accesses import Access, accesses, emu_accesses
from xonnc.formats.nvdla.checks.bank_splits import bank_split_problems
from xonnc.formats.nvdla.checks.container import container_problems
from xonnc.formats.nvdla.checks.conv import conv_problems
from xonnc.formats.nvdla.checks.cubes import CUBE_RULES
from xonnc.formats.nvdla.checks.data_flow import MemoryContents
from xonnc.formats.nvdla.checks.dependency_graph import graph_problems
from xonnc.formats.nvdla.checks.descriptors import descriptor_problems
from xonnc.formats.nvdla.checks.emu import emu_problems
from xonnc.formats.nvdla.checks.event_order import EventOrder, Moment
from xonnc.formats.nvdla.checks.memory_engines import bdma_problems, cdp_problems, rubik_problems
from xonnc.formats.nvdla.checks.pdp import pdp_problems
from xonnc.formats.nvdla.checks.pooling_queue import pooling_queue_problems
from xonnc.formats.nvdla.checks.problem import OperationContext, Severity, Violation, apply
from xonnc.formats.nvdla.checks.races import race_problems
from xonnc.formats.nvdla.checks.register_fields import lut_fields
from xonnc.formats.nvdla.checks.sdp import sdp_problems
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.nvdla.records import (
    BdmaOp,
    BdmaSurface,
    CdpOp,
    CdpSurface,
    ConvOp,
    ConvSurface,
    PdpOp,
    PdpSurface,
    RubikOp,
    RubikSurface,
    SdpOp,
    SdpSurface,
)
from xonnc.formats.nvdla.tasks import DlaTask, EmuTask, decode_task, interface_layout
from xonnc.targets import NvdlaTarget, load_target, target_names


@checks_arguments
def read_checked(path: str | Path, target: NvdlaTarget) -> Loadable:
    """
    Read a loadable and check it against a target.

    Parameters:
        path: the loadable (.nvdla).
        target: the configuration that it has to fit, from `load_target`.

    Returns: the loadable.

    Raises: `RefusalError` with all problems; if it is sound for other targets, their names instead.
        `XonncError`
    for a malformed file.

    Example:
        >>> loadable = xonnc.read_checked(Path("model.nvdla"), xonnc.load_target("nv_full"))
    """
    loadable = read_loadable(path)
    require_sound(loadable, str(path), target)
    return loadable


def require_sound(loadable: Loadable, name: str, target: NvdlaTarget) -> None:
    """Raise `RefusalError` if the loadable called `name` is not valid for `target`."""
    problems = check_loadable(loadable, target)
    if problems:
        _require_no_other(name, loadable, target, problems)
        raise RefusalError([f"{name}: {problem}" for problem in problems])


def read_fitting(path: Path, target: NvdlaTarget) -> Loadable:
    """Read a loadable that `require_fitting` accepts."""
    loadable = read_loadable(path)
    require_fitting(loadable, str(path), target)
    return loadable


def require_fitting(loadable: Loadable, name: str, target: NvdlaTarget) -> None:
    """
    Raise `RefusalError` if a loadable is valid for other targets but not for `target`.

    A loadable that is valid for no target is accepted: the simulator shows what hardware does with it.
    """
    _require_no_other(name, loadable, target, check_loadable(loadable, target))


def other_targets(loadable: Loadable, target: NvdlaTarget) -> list[str]:
    """Return the predefined targets other than `target` for which a loadable is valid."""
    others = [name for name in target_names() if name != target.name]
    return [name for name in others if not check_loadable(loadable, load_target(name))]


def way_out(others: Sequence[str]) -> str:
    """Return what to do with a loadable that is valid for `others`."""
    return f"it is sound for {', '.join(others)}: --target {others[0]}"


def _require_no_other(name: str, loadable: Loadable, target: NvdlaTarget, problems: list[Violation]) -> None:
    others = other_targets(loadable, target) if problems else []
    if others:
        raise RefusalError([f"{name}: not for {target.name} ({problems[0]}); {way_out(others)}"])


def check_loadable(loadable: Loadable, target: NvdlaTarget) -> list[Violation]:
    """
    Return all errors of the container, the descriptors, the engines, the graph and the memory.

    Empty for a valid loadable. Later groups of rules assume what earlier ones check, so they run only after
    those pass: fixing the reported problems may reveal more.
    """
    found = findings(loadable, target)
    return [problem for problem in found if problem.severity is Severity.ERROR]


def findings(loadable: Loadable, target: NvdlaTarget) -> list[Violation]:
    """Return errors as `check_loadable` does, and warnings."""
    problems = list(container_problems(loadable, target))
    if problems:
        return problems
    tasks, problems = _decoded(loadable)
    for task in tasks:
        problems += descriptor_problems(task, loadable)
        problems += _engine_problems(task, loadable, target)
        if isinstance(task, DlaTask):
            problems += graph_problems(task)
    return problems or _memory_problems(loadable, tasks, target)


def _decoded(loadable: Loadable) -> tuple[list[DlaTask | EmuTask], list[Violation]]:
    """Return the tasks that can be decoded, and why others cannot."""
    layout = interface_layout(loadable)
    tasks: list[DlaTask | EmuTask] = []
    problems: list[Violation] = []
    for task in loadable.tasks:
        try:
            tasks.append(decode_task(loadable, task, layout))
        except XonncError as error:
            location = f"task {task.id}"
            reason = str(error).removeprefix(location).lstrip(": ")
            problems.append(Violation(location, "descriptors-decode", reason))
    return tasks, problems


def _engine_problems(task: DlaTask | EmuTask, loadable: Loadable, target: NvdlaTarget) -> Iterator[Violation]:
    if isinstance(task, EmuTask):
        yield from emu_problems(task, target)
        for index, operation in enumerate(task.operations):
            location = f"{task.name} operation {index}"
            yield from apply(CUBE_RULES, location, emu_accesses(operation), task.addresses, loadable, target)
        return
    for index, lut in enumerate(task.luts):
        yield from apply((lut_fields,), f"{task.name} lut {index}", lut)
    for operation in task.operations:
        site = OperationContext(loadable, task, operation, target)
        yield from _operation_problems(site)
        touched = accesses(operation, target)
        yield from apply(CUBE_RULES, site.location, touched, task.addresses, loadable, target)


def _operation_problems(site: OperationContext) -> Iterator[Violation]:
    match site.operation.op, site.operation.surface:
        case ConvOp() as op, ConvSurface() as surface:
            return conv_problems(op, surface, site)
        case SdpOp() as op, SdpSurface() as surface:
            return sdp_problems(op, surface, site)
        case PdpOp() as op, PdpSurface() as surface:
            return pdp_problems(op, surface, site)
        case CdpOp() as op, CdpSurface() as surface:
            return cdp_problems(op, surface, site)
        case RubikOp() as op, RubikSurface() as surface:
            return rubik_problems(op, surface, site)
        case BdmaOp() as op, BdmaSurface() as surface:
            return bdma_problems(op, surface, site)
        case _:
            return iter(())


def _memory_problems(
    loadable: Loadable, tasks: list[DlaTask | EmuTask], target: NvdlaTarget
) -> list[Violation]:
    """
    Return races within tasks, then violations of the data flow over all tasks in the order of their submits.
    """
    flow = MemoryContents(loadable, target)
    races: list[Violation] = []
    ordered: list[tuple[DlaTask, EventOrder]] = []
    for index in (index for submit in loadable.submits for index in submit.task_id):
        task = tasks[index]
        if isinstance(task, EmuTask):
            for number, operation in enumerate(task.operations):
                location = f"{task.name} operation {number}"
                _follow(flow, location, emu_accesses(operation), task, (Moment.READ, Moment.WRITTEN))
        else:
            ordered.append((task, EventOrder(task)))
            races += _dla_memory_problems(flow, *ordered[-1], target)
    found = races or [*flow.problems, *flow.ends()]
    return [*found, *_queue_problems(ordered, target)]


def _queue_problems(ordered: list[tuple[DlaTask, EventOrder]], target: NvdlaTarget) -> Iterator[Violation]:
    """Yield problems between consecutive operations of an engine."""
    yield from pooling_queue_problems(ordered)
    for task, order in ordered:
        yield from bank_split_problems(task, order, target)


def _dla_memory_problems(
    flow: MemoryContents, task: DlaTask, order: EventOrder, target: NvdlaTarget
) -> list[Violation]:
    touched = {operation.index: accesses(operation, target) for operation in task.operations}
    races = list(race_problems(task, touched, order))
    for index, moment in order.moments():
        location = f"{task.name} operation {index} ({task.operations[index].engine.name})"
        _follow(flow, location, touched[index], task, (moment,))
    return races


def _follow(
    flow: MemoryContents,
    location: str,
    touched: Iterable[Access],
    task: DlaTask | EmuTask,
    moments: tuple[Moment, ...],
) -> None:
    """Apply reads when the last read is done, and writes when the last write is done."""
    for moment in moments:
        for access in touched:
            if moment is Moment.READ and not access.writes:
                flow.read(location, access, task.addresses)
            elif moment is Moment.WRITTEN and access.writes:
                flow.write(location, access, task.addresses)
