"""Transforms and windows of signals; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.elements import result_has_dtype
from xonnc.dialects.onnx.checks.shapes import holds_one, rank_is, spectrum
from xonnc.dialects.onnx.checks.values import constants_at_least, integer_in
from xonnc.dialects.onnx.constraints import INT64, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class BlackmanWindowOp(OnnxOp):
    """A Blackman window of the given length."""

    name = "onnx.BlackmanWindow"

    OP_TYPE: ClassVar = "BlackmanWindow"
    SINCE: ClassVar = 17

    T1: ClassVar = types("T1", "i32 i64")
    T2: ClassVar = types("T2", "ints uints floats bf16")

    size = operand_def(T1)

    output = result_def(T2)

    output_datatype = prop_def(INT_ATTR, int_attr(1))
    periodic = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            result_has_dtype("output_datatype", "output"), holds_one("size"), integer_in("periodic", 0, 1)
        ),
    )


@irdl_op_definition
class DFTOp(OnnxOp):
    """The discrete Fourier transform along an axis, or its inverse."""

    name = "onnx.DFT"

    OP_TYPE: ClassVar = "DFT"
    SINCE: ClassVar = 20

    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "i32 i64")

    input = operand_def(T1)
    dft_length = operand_def(T2.optional)
    axis = operand_def(INT64.optional)

    output = result_def(T1)

    inverse = prop_def(INT_ATTR, int_attr(0))
    onesided = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            holds_one("axis"),
            holds_one("dft_length"),
            spectrum,
            integer_in("onesided", 0, 1),
            integer_in("inverse", 0, 1),
        ),
    )


@irdl_op_definition
class DFTV17Op(OnnxOp):
    """
    The discrete Fourier transform along an axis, or its inverse.

    As of opsets 17 to 19.
    """

    name = "onnx.DFTV17"

    OP_TYPE: ClassVar = "DFT"
    SINCE: ClassVar = 17
    UNTIL: ClassVar = 20

    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "i32 i64")

    input = operand_def(T1)
    dft_length = operand_def(T2.optional)

    output = result_def(T1)

    axis = prop_def(INT_ATTR, int_attr(1))
    inverse = prop_def(INT_ATTR, int_attr(0))
    onesided = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(holds_one("dft_length"), spectrum, integer_in("onesided", 0, 1), integer_in("inverse", 0, 1)),
    )


@irdl_op_definition
class HammingWindowOp(OnnxOp):
    """A Hamming window of the given length."""

    name = "onnx.HammingWindow"

    OP_TYPE: ClassVar = "HammingWindow"
    SINCE: ClassVar = 17

    T1: ClassVar = types("T1", "i32 i64")
    T2: ClassVar = types("T2", "ints uints floats bf16")

    size = operand_def(T1)

    output = result_def(T2)

    output_datatype = prop_def(INT_ATTR, int_attr(1))
    periodic = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            result_has_dtype("output_datatype", "output"), holds_one("size"), integer_in("periodic", 0, 1)
        ),
    )


@irdl_op_definition
class HannWindowOp(OnnxOp):
    """A Hann window of the given length."""

    name = "onnx.HannWindow"

    OP_TYPE: ClassVar = "HannWindow"
    SINCE: ClassVar = 17

    T1: ClassVar = types("T1", "i32 i64")
    T2: ClassVar = types("T2", "ints uints floats bf16")

    size = operand_def(T1)

    output = result_def(T2)

    output_datatype = prop_def(INT_ATTR, int_attr(1))
    periodic = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            result_has_dtype("output_datatype", "output"), holds_one("size"), integer_in("periodic", 0, 1)
        ),
    )


@irdl_op_definition
class MelWeightMatrixOp(OnnxOp):
    """The weights that turn a linear spectrum into a mel spectrum."""

    name = "onnx.MelWeightMatrix"

    OP_TYPE: ClassVar = "MelWeightMatrix"
    SINCE: ClassVar = 17

    T1: ClassVar = types("T1", "i32 i64")
    T2: ClassVar = types("T2", "floats bf16")
    T3: ClassVar = types("T3", "ints uints floats bf16")

    num_mel_bins = operand_def(T1)
    dft_length = operand_def(T1)
    sample_rate = operand_def(T1)
    lower_edge_hertz = operand_def(T2)
    upper_edge_hertz = operand_def(T2)

    output = result_def(T3)

    output_datatype = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            result_has_dtype("output_datatype", "output"),
            holds_one("num_mel_bins"),
            holds_one("dft_length"),
            holds_one("sample_rate"),
            holds_one("lower_edge_hertz"),
            holds_one("upper_edge_hertz"),
        ),
    )


@irdl_op_definition
class STFTOp(OnnxOp):
    """The Fourier transforms of the windows of a signal."""

    name = "onnx.STFT"

    OP_TYPE: ClassVar = "STFT"
    SINCE: ClassVar = 17

    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "i32 i64")

    signal = operand_def(T1)
    frame_step = operand_def(T2)
    window = operand_def(T1.optional)
    frame_length = operand_def(T2.optional)

    output = result_def(T1)

    onesided = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            holds_one("frame_step"),
            holds_one("frame_length"),
            constants_at_least("frame_step", 1),
            constants_at_least("frame_length", 1),
            spectrum,
            integer_in("onesided", 0, 1),
            rank_is("window", 1),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    BlackmanWindowOp,
    DFTOp,
    DFTV17Op,
    HammingWindowOp,
    HannWindowOp,
    MelWeightMatrixOp,
    STFTOp,
)
