"""
Run-time checks of values that must be in range: indices, counts, lengths.

A kernel writes the minimum and the maximum into a buffer of two i64, which has the attribute `krnl.check`
with the allowed range; the runtime looks at it after each step. Kernels clamp such values themselves, so that
no access is out of bounds before the check fails, nor in programs compiled without checks.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.locations import describe
from xonnc.formats.native.program import RangeCheck
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.planning.element_types import storage_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, min_size, volume

CHECK = "krnl.check"
"""Attribute of a buffer of minimum and maximum: the allowed range, and the message if it is left."""


def bounds_check(op: Operation, least: int, most: int, message: str, builder: LoweringBuilder) -> SSAValue:
    """
    Return a buffer for the minimum and maximum of values that must be in [least, most].

    `{}` in the message is replaced by a value that is not.
    """
    return _check_buffer(f"{_escaped(describe(op))}: {message}", least, most, builder)


def size_check(op: Operation, size: int, what: str, builder: LoweringBuilder) -> SSAValue:
    """Return a buffer for a size, stored twice, that must equal the static size in the model."""
    message = f"{_escaped(describe(op))}: {what}, the model says {size}"
    return _check_buffer(message, size, size, builder, is_declared=True)


def failure_check(message: str, builder: LoweringBuilder) -> SSAValue:
    """Return a buffer of two integers; the run fails with `message` if they are not 0."""
    return _check_buffer(_escaped(message), 0, 0, builder)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _check_buffer(
    message: str, least: int, most: int, builder: LoweringBuilder, is_declared: bool = False
) -> SSAValue:
    check_buffer = builder.allocate([2], i64)
    if builder.has_runtime_checks:
        bounds: dict[str, Attribute] = {"least": IntegerAttr(least, i64), "most": IntegerAttr(most, i64)}
        if is_declared:
            bounds["declared"] = UnitAttr()
        assert isinstance(check_buffer.owner, Operation)
        check_buffer.owner.attributes[CHECK] = DictionaryAttr({**bounds, "message": StringAttr(message)})
    return check_buffer


def check_of(op: memref.AllocOp, index: int) -> RangeCheck | None:
    """Return the check of a buffer, or None."""
    attribute = op.attributes.get(CHECK)
    if not isinstance(attribute, DictionaryAttr):
        return None
    least, most, message = (attribute.data[name] for name in ("least", "most", "message"))
    assert isinstance(least, IntegerAttr)
    assert isinstance(most, IntegerAttr)
    assert isinstance(message, StringAttr)
    return RangeCheck(index, least.value.data, most.value.data, message.data, "declared" in attribute.data)


def check_indices(
    op: Operation, indices: SSAValue, sizes: Sequence[Size], axis: int, builder: LoweringBuilder
) -> None:
    """
    Check at run time that indices are in range.

    The last axis of `indices` holds one index for each of `sizes`; `axis` is the axis of the data that the
    first one belongs to. Constants in range need no check.
    """
    if not builder.has_runtime_checks:
        return
    rows = volume(builder.sizes(indices)) // len(sizes)
    constant = builder.constant(indices)
    for column, size in enumerate(sizes):
        if constant is not None and not constant.size:
            continue
        if constant is not None and is_static(size):
            values = constant.reshape(-1, len(sizes))[:, column]
            if -size <= int(values.min()) and int(values.max()) < size:
                continue
        if is_static(size):
            message = f"index {{}} is out of range: axis {axis + column} has {size} elements"
            check_buffer = bounds_check(op, -size, size - 1, message, builder)
        else:
            # -size <= minimum and maximum < size, with the dynamic size moved to the left-hand side.
            check_buffer = bounds_check(
                op, 0, -1, f"an index is out of range of axis {axis + column}", builder
            )
        kernel = Kernel(builder, "bounds", [check_buffer], [(indices, [rows, len(sizes)])])
        out, source = kernel.buffers
        # Without indices the bounds stay 0 and -1, which are in range of every size, also of 0.
        first = [kernel.constant(value, storage_type(source.element)) for value in (0, -1)]
        with kernel.reducing([rows], first) as ((row,), (least, most), results):
            index = source.load(row, column)
            results += [least.minimum(index), most.maximum(index)]
        low, high = (each.to(i64) for each in results)
        if not is_static(size):
            low, high = low + kernel.count([size]), high - kernel.count([size])
        out[0] = low
        out[1] = high
        kernel.call()


def check_numbers(
    op: Operation, numbers: SSAValue, least: Size, most: Size, message: str, builder: LoweringBuilder
) -> None:
    """
    Check at run time that integers are in [least, most]; `message` says what they are.

    A dynamic bound is subtracted first: the kernel stores `minimum - least` and `maximum - most`.
    """
    count = volume(builder.sizes(numbers))
    if not builder.has_runtime_checks or count == 0:
        return
    if is_static(least) and is_static(most):
        check_buffer = bounds_check(
            op, least, most, f"{message} {{}}; {least} to {most} are in range", builder
        )
        shifts: tuple[Size | None, ...] = (None, None)
    else:
        check_buffer = bounds_check(op, 0, 0, f"{message} a number out of range", builder)
        shifts = least, most
    kernel = Kernel(builder, "bounds", [check_buffer], [(numbers, [count])])
    out, source = kernel.buffers
    # If there may be none at run time, start at 0, which is in range for indices and lengths.
    first = source.load(0) if is_static(count) else kernel.constant(0, storage_type(source.element))
    with kernel.reducing([count], [first, first]) as ((index,), (low, high), results):
        number = source.load(index)
        results += [low.minimum(number), high.maximum(number)]
    for position, (value, shift) in enumerate(zip(results, shifts, strict=True)):
        wide = value.to(i64)
        out[position] = wide if shift is None else wide - kernel.count([shift])
    kernel.call()


def iterations_if_nonempty(count: Size, size: Size) -> Size:
    """Return `count`, or 0 if an axis that iterations read is empty at run time."""
    return count if is_static(size) else count * min_size(size, 1)


def index_within(number: Scalar, size: Size, wraps: bool = True) -> Scalar:
    """Return an integer as an index into `size` elements, clamped; negative ones count from the end."""
    number = number.to(i64)
    kernel = number.kernel
    if wraps:
        number = (number < 0).select(number + Scalar(kernel, kernel.count([size], i64)), number)
    return number.clamp(0, Scalar(kernel, kernel.count([size - 1], i64))).to(INDEX)
