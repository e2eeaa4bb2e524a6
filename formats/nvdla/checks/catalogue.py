"""All rules by name with their description, for documentation and tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from inspect import cleandoc

from xonnc.formats.nvdla.checks import (
    bank_splits,
    container,
    conv,
    cubes,
    data_flow,
    dependency_graph,
    descriptors,
    emu,
    memory_engines,
    pdp,
    pooling_queue,
    races,
    register_fields,
    sdp,
)

_GROUPS: tuple[Iterable[Callable[..., Iterator[str]]], ...] = (
    container.LOADABLE_RULES,
    container.BLOB_RULES,
    container.MEMORY_RULES,
    container.ADDRESS_RULES,
    container.TENSOR_RULES,
    container.TASK_RULES,
    descriptors.PLACE_RULES,
    descriptors.NETWORK_RULES,
    conv.FIELD_RULES,
    conv.CONV_RULES,
    sdp.FIELD_RULES,
    sdp.SDP_RULES,
    pdp.FIELD_RULES,
    pdp.PDP_RULES,
    memory_engines.CDP_RULES,
    memory_engines.RUBIK_FIELD_RULES,
    memory_engines.RUBIK_RULES,
    memory_engines.BDMA_RULES,
    (register_fields.lut_fields, emu.one_operation),
    emu.EMU_RULES,
    cubes.CUBE_RULES,
    dependency_graph.GRAPH_RULES,
    (dependency_graph.task_ends,),
)

RULES: dict[str, str] = (
    {
        rule.__name__.replace("_", "-"): cleandoc(rule.__doc__ or "").replace("\n", " ")
        for group in _GROUPS
        for rule in group
    }
    | {"descriptors-decode": "The descriptors are at the addresses given by the network descriptor."}
    | races.RULES
    | pooling_queue.RULES
    | data_flow.RULES
)
"""The description of each rule, by the name that problems carry."""

WARNINGS: dict[str, str] = pooling_queue.WARNINGS | bank_splits.WARNINGS
"""Descriptions of warnings: what may fail on some hardware or in a second run."""
