"""Generators of instances of reductions that follow each other."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.instances import FLOATS, Example, Given
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.patterns import Template, const, value
from xonnc.transforms.rules.fuse_reductions import AXES_ARE_ATTRIBUTES, AXES_ARE_OPERANDS, MEANS


def twice(template: Template) -> Generator:
    """A reduction of some axes, and one of others; axes stay after both, after none, or after the first."""
    is_old = template in AXES_ARE_ATTRIBUTES

    def make(draw: Draw) -> Example:
        shape = tuple(draw.number_in(1, 3) for _ in range(draw.number_in(2, 4)))
        first = draw.axes(len(shape), least=1, most=len(shape) - 1, negative=not is_old)
        stays, stay_then = draw.pick((1, 1), (0, 0), (1, 0))
        left = len(shape) if stays else len(shape) - len(first)
        second = draw.axes(left, least=1, negative=not is_old)
        if stays and not stay_then:
            second = tuple({axis % len(shape) for axis in (*first, *second)})
        values: dict[str, Given] = {"x": shape}
        if is_old:
            inner = template(value.x, axes=first, keepdims=stays)
            outer = template(inner, axes=second, keepdims=stay_then)
        else:
            values |= {"first": np.array(first, np.int64), "second": np.array(second, np.int64)}
            inner = template(value.x, const.first, noop_with_empty_axes=0, keepdims=stays)
            outer = template(inner, const.second, noop_with_empty_axes=0, keepdims=stay_then)
        return Example(values, pattern=outer, own=("first", "second"), specials=False)

    return make


GENERATORS: dict[str, Generator] = {
    f"Merge{template.name}": twice(template) for template in (*AXES_ARE_OPERANDS, *AXES_ARE_ATTRIBUTES)
}

KINDS: dict[str, tuple[Kind, ...]] = {
    name: FLOATS if name.removeprefix("Merge") in MEANS else (*FLOATS, np.int32, np.int64)
    for name in GENERATORS
}
