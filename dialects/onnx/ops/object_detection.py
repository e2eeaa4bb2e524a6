"""Boxes and regions of interest; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.indexing import suppression
from xonnc.dialects.onnx.checks.shapes import holds_one, listed_regions, rank_is, size_is
from xonnc.dialects.onnx.checks.values import at_least, integer_in, one_of
from xonnc.dialects.onnx.constraints import FLOAT, FLOAT_ATTR, INT64, INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class NonMaxSuppressionOp(OnnxOp):
    """The boxes of each class that overlap no better one too much."""

    name = "onnx.NonMaxSuppression"

    OP_TYPE: ClassVar = "NonMaxSuppression"
    SINCE: ClassVar = 10

    boxes = operand_def(FLOAT)
    scores = operand_def(FLOAT)
    max_output_boxes_per_class = operand_def(INT64.optional)
    iou_threshold = operand_def(FLOAT.optional)
    score_threshold = operand_def(FLOAT.optional)

    selected_indices = result_def(INT64)

    center_point_box = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("boxes", 3, text="boxes should have a rank of three"),
            size_is("boxes", 2, 4, "The last dim of Boxes should be four"),
            rank_is("scores", 3, text="scores should have a rank of three"),
            integer_in("center_point_box", 0, 1),
            holds_one(
                "max_output_boxes_per_class", "max_output_boxex_per_class should have a rank of zero or one"
            ),
            holds_one("score_threshold", "score_threshold should have a rank of zero or one"),
            holds_one("iou_threshold", "iou_threshold should have a rank of zero or one"),
            suppression,
        ),
    )


@irdl_op_definition
class RoiAlignOp(OnnxOp):
    """Regions of interest resampled to one size."""

    name = "onnx.RoiAlign"

    OP_TYPE: ClassVar = "RoiAlign"
    SINCE: ClassVar = 16

    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "i64")

    X = operand_def(T1)
    rois = operand_def(T1)
    batch_indices = operand_def(T2)

    Y = result_def(T1)

    coordinate_transformation_mode = prop_def(STRING_ATTR, string_attr("half_pixel"))
    mode = prop_def(STRING_ATTR, string_attr("avg"))
    output_height = prop_def(INT_ATTR, int_attr(1))
    output_width = prop_def(INT_ATTR, int_attr(1))
    sampling_ratio = prop_def(INT_ATTR, int_attr(0))
    spatial_scale = prop_def(FLOAT_ATTR, float_attr(1.0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("X", 4, text="RoiAlign with X should be a 4D tensor"),
            rank_is("batch_indices", 1, text="RoiAlign with batch_indices should be a 1D tensor"),
            one_of("mode", "avg", "max"),
            one_of("coordinate_transformation_mode", "half_pixel", "output_half_pixel"),
            listed_regions,
            at_least("output_height", 1),
            at_least("output_width", 1),
            at_least("sampling_ratio", 0),
        ),
    )


@irdl_op_definition
class RoiAlignV10Op(OnnxOp):
    """
    Regions of interest resampled to one size.

    As of opsets 10 to 15. Coordinates are not shifted by half a pixel.
    """

    name = "onnx.RoiAlignV10"

    OP_TYPE: ClassVar = "RoiAlign"
    SINCE: ClassVar = 10
    UNTIL: ClassVar = 16

    T1: ClassVar = types("T1", "floats")
    T2: ClassVar = types("T2", "i64")

    X = operand_def(T1)
    rois = operand_def(T1)
    batch_indices = operand_def(T2)

    Y = result_def(T1)

    mode = prop_def(STRING_ATTR, string_attr("avg"))
    output_height = prop_def(INT_ATTR, int_attr(1))
    output_width = prop_def(INT_ATTR, int_attr(1))
    sampling_ratio = prop_def(INT_ATTR, int_attr(0))
    spatial_scale = prop_def(FLOAT_ATTR, float_attr(1.0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("X", 4, text="RoiAlign with X should be a 4D tensor"),
            rank_is("batch_indices", 1, text="RoiAlign with batch_indices should be a 1D tensor"),
            one_of("mode", "avg", "max"),
            listed_regions,
            at_least("output_height", 1),
            at_least("output_width", 1),
            at_least("sampling_ratio", 0),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    NonMaxSuppressionOp,
    RoiAlignOp,
    RoiAlignV10Op,
)
