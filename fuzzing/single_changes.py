"""Single changes of a node: of one size, rank, attribute or constant each, which may make it invalid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import onnx
from xdsl.utils.hints import isa

from xonnc.fuzzing.edge_cases import instantiate, value_sets
from xonnc.fuzzing.edge_templates import TEMPLATES, DataOperand, NodeTemplate
from xonnc.fuzzing.random_models import Array

MAX_ENTRIES = 4
"""Most entries of a list that are changed."""

FAR = 9
"""A step beyond every axis and enumeration."""


def first_templates() -> Iterator[NodeTemplate]:
    """The first template of each operator."""
    seen: set[tuple[str, str]] = set()
    for template in TEMPLATES:
        key = template.domain, template.operator
        if key not in seen:
            seen.add(key)
            yield template


def single_changes(template: NodeTemplate) -> Iterator[tuple[str, NodeTemplate]]:
    """Names of changes and changed templates."""
    for index, operand in enumerate(template.inputs):
        if isinstance(operand, DataOperand):
            changes = ((name, replace(operand, shape=shape)) for name, shape in _other_shapes(operand.shape))
        else:
            changes = () if operand is None else _other_constants(operand)
        for name, changed in (*changes, *([] if operand is None else [("absent", None)])):
            inputs = [*template.inputs[:index], changed, *template.inputs[index + 1 :]]
            yield f"{index}.{name}", replace(template, inputs=inputs)
    for field, value in template.attributes.items():
        left = {name: other for name, other in template.attributes.items() if name != field}
        yield f"{field}.absent", replace(template, attributes=left)
        for name, changed in _other_values(value):
            yield f"{field}.{name}", replace(template, attributes={**template.attributes, field: changed})


def model_of(template: NodeTemplate) -> onnx.ModelProto | None:
    """A model of one node; `None` if the onnx package cannot express it."""
    try:
        return instantiate(template, value_sets(template)[0]).model(is_constant=False)
    except (TypeError, ValueError):
        return None


def _other_shapes(shape: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for axis, size in enumerate(shape):
        for step in (-1, 1):
            if size + step >= 0:
                yield f"{axis}{step:+}", (*shape[:axis], size + step, *shape[axis + 1 :])
    yield "ranked_up", (1, *shape)
    if shape:
        yield "ranked_down", shape[1:]


def _other_constants(array: Array) -> Iterator[tuple[str, Array]]:
    flat = array.reshape(-1)
    if np.issubdtype(array.dtype, np.integer):
        limits = np.iinfo(array.dtype)
        for entry in range(min(flat.size, MAX_ENTRIES)):
            for step in (-FAR, -1, 1, FAR):
                number = int(flat[entry]) + step
                if limits.min <= number <= limits.max:
                    changed = flat.copy()
                    changed[entry] = number
                    yield f"{entry}{step:+}", changed.reshape(array.shape)
    yield "longer", np.concatenate([flat[:1], flat])


def _other_values(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield from ((f"{step:+}", value + step) for step in (-FAR, -1, 1, FAR))
    elif isinstance(value, str):
        yield "other", value + "_"
    elif (isa(value, list[int]) or isa(value, list[float])) and value:
        for entry, number in enumerate(value[:MAX_ENTRIES]):
            for step in (-FAR, -1, 1, FAR):
                yield f"{entry}{step:+}", [*value[:entry], number + step, *value[entry + 1 :]]
        yield "longer", [value[0], *value]
        yield "shorter", value[1:]
