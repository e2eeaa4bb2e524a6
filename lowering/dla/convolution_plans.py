"""Plans of `dla.conv` operations."""

from __future__ import annotations

from xonnc.dialects.dla.engines import ConvOp
from xonnc.dialects.dla.types import cube_of, image_of, shape_of
from xonnc.dialects.onnx.locations import describe
from xonnc.errors import XonncError
from xonnc.lowering.dla_planning.convolution_tiling import ConvolutionPlan, candidate_plans
from xonnc.lowering.dla_planning.feasibility import buffer_demand, buffer_of, conv_plan
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.lowering.dla_planning.surface_sizes import pixel_bytes
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget


def window_of(op: ConvOp) -> Window2D:
    """Return the window of a convolution."""
    strides, dilations = op.strides.get_values(), op.dilations.get_values()
    top, left, bottom, right = op.pads.get_values()
    image = image_of(op.source.type)
    return Window2D(
        op.kernel,
        (strides[0], strides[1]),
        (dilations[0], dilations[1]),
        (top, left, bottom, right),
        0 if image is None else pixel_bytes(image),
        op.is_winograd is not None,
    )


def plan_of(target: NvdlaTarget, op: ConvOp) -> ConvolutionPlan:
    """Return the plan of `op` for the convolution buffer; an error if nothing fits."""
    source, kernels = cube_of(op.source.type), shape_of(op.weights.type)[0]
    plan = conv_plan(target, precision_of(op.source.type), source, kernels, window_of(op))
    if plan is None:
        raise XonncError(
            f"{describe(op)}: {kernels} kernels on an input of {'x'.join(map(str, source))} do not fit the "
            f"convolution buffer of {target.name} ({target.cbuf_bytes} bytes); use a smaller kernel, or "
            "convert-onnx-to-dla, which cuts the channels"
        )
    return plan


def fits_in_one_tile(target: NvdlaTarget, op: ConvOp) -> bool:
    """Whether the convolution buffer holds all rows of `op` at once."""
    source, kernels = cube_of(op.source.type), shape_of(op.weights.type)[0]
    rows = buffer_demand(target, precision_of(op.source.type), source, kernels, window_of(op))
    return any(len(plan.tiles) == 1 for plan in candidate_plans(rows, buffer_of(target)))
