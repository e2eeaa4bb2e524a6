"""Resize by nearest elements and by bilinear interpolation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import TypeAlias

from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.types import tensor_type
from xonnc.dialects.tosa.data_movement import ResizeOp
from xonnc.dialects.tosa.types import ResizeMode, ResizeModeAttr, element_of, shape_of
from xonnc.lowering.onnx_to_tosa.tosa_builder import NCHW, NHWC, TosaBuilder, lowers

MAX_NUMERATOR = 2048
"""The largest numerator of a scale that TOSA takes."""

AnyResizeOp: TypeAlias = tensor.ResizeOp | tensor.ResizeV18Op | tensor.ResizeV13Op | tensor.ResizeV11Op

MODES = {"nearest": ResizeMode.NEAREST_NEIGHBOR, "linear": ResizeMode.BILINEAR}

NEAREST: dict[str, Fraction | None] = {
    "round_prefer_ceil": Fraction(0),
    "floor": Fraction(-1, 2),
    "round_prefer_floor": None,
    "ceil": None,
}
"""
The offset to a position with which TOSA's rounding, half up, gives ONNX's; `None`: a fraction of a step.
"""


@dataclass(frozen=True)
class Positions:
    """Row `y` of the result is taken from `(step y + first) / grid` of the operand."""

    grid: int
    step: int
    first: int

    def moved(self, by: Fraction) -> Positions:
        """Return positions with a number added, on a grid that holds it."""
        factor = by.denominator // gcd(by.denominator, self.grid)
        grid = self.grid * factor
        return Positions(grid, self.step * factor, self.first * factor + int(by * grid))

    @property
    def reduced(self) -> Positions:
        """The same positions on the coarsest grid."""
        common = gcd(self.grid, self.step, self.first)
        return Positions(self.grid // common, self.step // common, self.first // common)


@lowers(tensor.ResizeOp, tensor.ResizeV18Op, tensor.ResizeV13Op, tensor.ResizeV11Op)
def resize(op: AnyResizeOp, builder: TosaBuilder) -> SSAValue:
    """A resize of rows and columns in NHWC."""
    x, out = builder.value(op.X), builder.result_shape(op)
    shape = shape_of(x)
    if len(shape) != 4 or shape[:2] != out[:2]:
        builder.refuse(f"{list(shape)} to {list(out)} (TOSA resizes rows and columns of images)")
    mode = MODES.get(op.mode.data)
    if mode is None:
        builder.refuse(f"mode {op.mode.data} (TOSA has nearest and linear)")
    if isinstance(op, tensor.ResizeOp | tensor.ResizeV18Op) and op.antialias.value.data:
        builder.refuse("antialias (TOSA has none)")
    found = [_positions(op, shape[axis], out[axis], builder) for axis in (2, 3)]
    for each, size in zip(found, shape[2:], strict=True):
        _require_limits(each, size, builder)
    source = builder.transpose(x, NHWC)
    scale = [number for each in found for number in (each.grid, each.step)]
    border = [
        (made - 1) * each.step - (size - 1) * each.grid + each.first
        for each, size, made in zip(found, shape[2:], out[2:], strict=True)
    ]
    operands = [
        source, builder.shape(scale), builder.shape([each.first for each in found]), builder.shape(border)
    ]  # fmt: skip
    type_ = tensor_type((out[0], *out[2:], out[1]), element_of(x))
    made = builder.emit(ResizeOp, operands, type_, mode=ResizeModeAttr(mode))
    return builder.transpose(made, NCHW)


def _positions(op: AnyResizeOp, size: int, made: int, builder: TosaBuilder) -> Positions:
    """Return the positions along one axis; refuse scales that are not those of the sizes."""
    transformation_mode = op.coordinate_transformation_mode.data
    scale = Fraction(made, size)
    if transformation_mode == "align_corners":
        found = Positions(max(made - 1, 1), size - 1 if made > 1 else 0, 0)
        if found.step == 0:
            found = Positions(1, 1, 0)
    elif transformation_mode == "asymmetric":
        found = Positions(scale.numerator, scale.denominator, 0)
    elif transformation_mode == "half_pixel" or (transformation_mode == "pytorch_half_pixel" and made > 1):
        # (y + 1/2) / scale - 1/2
        n, d = scale.numerator, scale.denominator
        found = Positions(2 * n, 2 * d, d - n)
    else:
        builder.refuse(
            f"coordinates {transformation_mode} (TOSA takes half_pixel, asymmetric and align_corners)"
        )
    _require_scale(op, size, made, builder)
    if op.mode.data == "nearest":
        found = _nearest(op.nearest_mode.data, found)
    return found.reduced


def _nearest(mode: str, found: Positions) -> Positions:
    """Return positions that TOSA, which rounds half up, rounds as ONNX's mode says."""
    shift = NEAREST[mode]
    if shift is None:
        # Less than a step of the grid: only positions on a tie change.
        part = Fraction(1, 2 * found.grid * 2)
        shift = -part if mode == "round_prefer_floor" else Fraction(1, 2) - part
    return found.moved(shift)


def _require_scale(op: AnyResizeOp, size: int, made: int, builder: TosaBuilder) -> None:
    """Refuse a scale that is not the ratio of the sizes: ONNX computes positions with the one given."""
    scales = builder.constant(op.scales)
    if scales is None or scales.size == 0 or op.coordinate_transformation_mode.data == "align_corners":
        return
    if not any(abs(float(scale) * size - made) < 1e-4 * made for scale in scales.reshape(-1)):
        builder.refuse(f"scales {scales.tolist()} make {made} of {size}, which is no whole ratio; give sizes")


def _require_limits(found: Positions, size: int, builder: TosaBuilder) -> None:
    """Refuse numbers that TOSA does not take."""
    if found.grid > MAX_NUMERATOR or found.step >= 16 * found.grid:
        builder.refuse(
            f"a scale of {found.grid} / {found.step} (TOSA takes numerators up to {MAX_NUMERATOR} and more "
            "than 1 / 16)"
        )
    if not -found.grid <= found.first < 16 * found.grid:
        builder.refuse(f"an offset of {found.first} / {found.grid} at {size} rows or columns")
