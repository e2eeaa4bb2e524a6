"""Einsum as one loop nest, with a loop for each subscript label."""

from __future__ import annotations

from xonnc.dialects.onnx.ops.math import EinsumOp
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    SUPPORTS_EMPTY,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, volume
from xonnc.transforms.shapes.einsum import DIGITS, parsed

supports_dynamic_shapes(EinsumOp)
SUPPORTS_EMPTY.add(EinsumOp)


@lowers(EinsumOp)
def einsum(op: EinsumOp, builder: LoweringBuilder) -> str | None:
    """Sum of products over the labels that are not in the output."""
    shapes = [builder.sizes(value) for value in op.Inputs]
    equation = parsed(op.equation.data, [len(shape) for shape in shapes])
    if equation is None:
        return f"there are more than {len(DIGITS)} axes under an ellipsis"
    inputs, output = equation.operands, equation.result
    sizes: dict[str, Size] = {}
    for letters, shape in zip(inputs, shapes, strict=True):
        for letter, size in zip(letters, shape, strict=True):
            known = sizes.get(letter, 1)
            if 1 not in (known, size) and known != size:
                # Equal or 1 at run time, which only static shapes tell.
                return NO_DYNAMIC_KERNEL
            sizes[letter] = known if size == 1 else size
    summed = [letter for letter in sizes if letter not in output]
    kind = compute_type(builder.element(op.Output))
    result = op.Output, [sizes[letter] for letter in output] or [1]
    kernel = Kernel(builder, "einsum", [result], op.Inputs)
    out, *sources = kernel.buffers

    def product(index_of: dict[str, Scalar]) -> Scalar:
        found = [
            source.read_as(kind, *source.broadcast([index_of[letter] for letter in letters]))
            for source, letters in zip(sources, inputs, strict=True)
        ]
        total = found[0]
        for number in found[1:]:
            total = total * number
        return total

    with kernel.loops([sizes[letter] for letter in output]) as outer:
        known = dict(zip(output, outer, strict=False))
        if volume([sizes[letter] for letter in summed]) == 1:
            total = product(known | dict.fromkeys(summed, kernel.index(0)))
        else:
            start = kernel.constant(0, kind)
            with kernel.reducing([sizes[letter] for letter in summed], [start]) as (inner, (sum_,), results):
                results.append(sum_ + product(known | dict(zip(summed, inner, strict=True))))
            total = results[0]
        out[*outer] = total
    kernel.call()
    return None
