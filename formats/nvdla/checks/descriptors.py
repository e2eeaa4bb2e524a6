"""
Rules of where a task's descriptors are and of its network descriptor (docs/internals/nvdla-hardware.md §1.3,
§1.5, §2.1).
"""

from __future__ import annotations

from collections.abc import Iterator

from xonnc.formats.nvdla.checks.problem import Violation, apply
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.tasks import DlaTask, EmuTask

_GRAPH = "dep_graph"
"""The runtime restores the contents whose names have this in them before every run (§1.3)."""


def descriptor_problems(task: DlaTask | EmuTask, loadable: Loadable) -> Iterator[Violation]:
    """Yield the faults of a task's descriptor offsets and of its network descriptor."""
    yield from apply(PLACE_RULES, task.name, task, loadable)
    if isinstance(task, DlaTask):
        yield from apply(NETWORK_RULES, task.name, task, loadable)


def _arrays(task: DlaTask | EmuTask) -> dict[str, int]:
    """The descriptor arrays in use by the name of the field that says where they are."""
    network = task.network
    arrays = {"network descriptor": 0, "operation_desc_index": network.operation_desc_index}
    if isinstance(task, EmuTask):
        return arrays | {"operation_buffer_desc_index": task.network.operation_buffer_desc_index}
    arrays["surface_desc_index"] = task.network.surface_desc_index
    arrays["dependency_graph_index"] = task.network.dependency_graph_index
    if task.network.num_luts:
        arrays["lut_data_index"] = task.network.lut_data_index
    return arrays


def descriptors_begin_their_memory(task: DlaTask | EmuTask, loadable: Loadable) -> Iterator[str]:
    """
    Each descriptor array starts its own memory object: the driver ignores the address's offset.
    """
    owners: dict[int, str] = {}
    for field, index in _arrays(task).items():
        if not 0 <= index < len(task.addresses):
            continue
        address = task.addresses[index]
        if address.offset:
            yield f"{field} {index} is at offset {address.offset} of its memory; the driver reads at 0"
        if address.memory in owners:
            other = owners[address.memory]
            yield f"{field} {index} shares memory {address.memory} with {other}; each has its own"
        owners[address.memory] = field


def dependency_graph_is_restored(task: DlaTask | EmuTask, loadable: Loadable) -> Iterator[str]:
    """
    The name of the blob with the dependency graph contains `dep_graph`: the runtime restores it
    before each run, and without that the second run hangs.
    """
    if not isinstance(task, DlaTask) or not task.operations:
        return
    memory = loadable.memories[task.addresses[task.network.dependency_graph_index].memory]
    if not any(_GRAPH in name for name in memory.contents):
        yield (
            f"dependency_graph_index: its blob is called '{memory.contents[0]}'; without '{_GRAPH}' in the "
            "name it is not restored before a second run"
        )


PLACE_RULES = (descriptors_begin_their_memory, dependency_graph_is_restored)


def all_addresses_count(task: DlaTask, loadable: Loadable) -> Iterator[str]:
    """`num_addresses` is the length of the address list."""
    if task.network.num_addresses != len(task.addresses):
        yield f"num_addresses {task.network.num_addresses}; the address list has {len(task.addresses)}"


def there_are_operations(task: DlaTask, loadable: Loadable) -> Iterator[str]:
    """A task has at least one operation."""
    if not task.operations:
        yield "num_operations 0; a task has one at least"


def regions_of_interest_are_static(task: DlaTask, loadable: Loadable) -> Iterator[str]:
    """
    One static region of interest and no statistics: nothing else is used by loadables or was tried
    with the driver.
    """
    network = task.network
    if network.num_rois != 1 or network.dynamic_roi:
        yield f"num_rois {network.num_rois}, dynamic_roi {network.dynamic_roi}; they are 1 and 0"
    if network.roi_array_index != -1 or network.stat_list_index != -1:
        yield (
            f"roi_array_index {network.roi_array_index}, stat_list_index {network.stat_list_index}; "
            "both are -1"
        )


NETWORK_RULES = (all_addresses_count, there_are_operations, regions_of_interest_are_static)
