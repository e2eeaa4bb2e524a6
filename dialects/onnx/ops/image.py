"""Images; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.values import one_of
from xonnc.dialects.onnx.constraints import STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class ImageDecoderOp(OnnxOp):
    """An image file's bytes as a tensor of pixels."""

    name = "onnx.ImageDecoder"

    OP_TYPE: ClassVar = "ImageDecoder"
    SINCE: ClassVar = 20

    T1: ClassVar = types("T1", "ui8")
    T2: ClassVar = types("T2", "ui8")

    encoded_stream = operand_def(T1)

    image = result_def(T2)

    pixel_format = prop_def(STRING_ATTR, string_attr("RGB"))

    traits = traits_def(Pure(), Checks(one_of("pixel_format", "RGB", "BGR", "Grayscale")))


OPS: tuple[type[OnnxOp], ...] = (ImageDecoderOp,)
