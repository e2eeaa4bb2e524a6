"""
Settings of the engines as attributes, with the names of NVDLA's descriptors (docs/internals/nvdla-hardware.md
§2.2, §2.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.dla.fields import parse_fields, print_fields


class StageFunction(StrEnum):
    """The operation of an SDP stage: `sdp_op.type`."""

    NONE = "none"
    MUL = "mul"
    ALU = "alu"
    BOTH = "both"


class AluFunction(StrEnum):
    """The ALU operation of an SDP stage: `sdp_op.alu_type`."""

    MAX = "max"
    MIN = "min"
    SUM = "sum"
    EQUAL = "equal"


class OperandMode(StrEnum):
    """The source of a stage's operand: a scalar, one value per channel, or one per element."""

    PER_LAYER = "per_layer"
    PER_KERNEL = "per_kernel"
    PER_POINT = "per_point"


class Activation(StrEnum):
    """The activation after a stage: `sdp_op.act`."""

    NONE = "none"
    RELU = "relu"
    LUT = "lut"
    PRELU = "prelu"


class LutMethod(StrEnum):
    """The index mode of the 65-entry table: exponential or linear."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"


class LutTable(StrEnum):
    """The table with priority if both or neither of 65 and 257 entries cover the input."""

    LINEAR_EXP = "linear_exp"
    LINEAR_ONLY = "linear_only"


class PoolMode(StrEnum):
    """The pooling function: `pdp_op.pool_mode`."""

    AVERAGE = "average"
    MAX = "max"
    MIN = "min"


class ConstantLayout(StrEnum):
    """
    Memory layout of a constant: convolution kernels, plain, compressed or transformed for Winograd's
    algorithm, one entry per channel, or a feature cube.
    """

    KERNELS = "kernels"
    COMPRESSED_KERNELS = "compressed_kernels"
    WINOGRAD_KERNELS = "winograd_kernels"
    PER_KERNEL = "per_kernel"
    CUBE = "cube"


class MemoryRole(StrEnum):
    """The purpose of a memory object (docs/internals/nvdla-hardware.md §1.3)."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANTS = "constants"
    ACTIVATIONS = "activations"
    ON_CHIP = "on_chip"


@dataclass(frozen=True)
class SdpStage:
    """
    One of the SDP's stages X1, X2 and Y.

    X1 and X2 compute `act((x ALU a) * m)`, Y computes `act((x * m) ALU a)` and has no ReLU. `alu_operand` and
    `mul_operand` are the scalars of `per_layer`; `shift_value` (left, on the ALU's operand) and `truncate`
    (right, on the product) are for integers only (docs/internals/nvdla-hardware.md §4.2). `mul_offset` is
    subtracted from the factors that Y reads from memory.
    """

    type: StageFunction = StageFunction.NONE
    alu: AluFunction = AluFunction.SUM
    mode: OperandMode = OperandMode.PER_LAYER
    act: Activation = Activation.NONE
    alu_operand: float = 0.0
    mul_operand: float = 0.0
    shift_value: int = 0
    truncate: int = 0
    mul_offset: int = 0

    @property
    def reads_memory(self) -> bool:
        """Whether the stage has an operand in memory."""
        return self.type is not StageFunction.NONE and self.mode is not OperandMode.PER_LAYER


@irdl_attr_definition
class StageAttr(Data[SdpStage]):
    """`#dla.stage<type = alu, mode = per_kernel, act = relu>`: one stage of the SDP."""

    name = "dla.stage"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SdpStage:
        return parse_fields(parser, SdpStage)

    def print_parameter(self, printer: Printer) -> None:
        print_fields(printer, self.data)


@dataclass(frozen=True)
class BankPlan:
    """
    Bank split of the convolution buffer (docs/internals/nvdla-hardware.md §3.7).

    `data_banks` and `weight_banks` are counts. `weight_reuse`: the previous convolution left the weights in
    the buffer; `skip_weight_release`: they stay for the next one. `data_reuse` and `skip_data_release`
    likewise for the input.
    """

    data_banks: int
    weight_banks: int
    weight_reuse: bool = False
    skip_weight_release: bool = False
    data_reuse: bool = False
    skip_data_release: bool = False


@irdl_attr_definition
class BankPlanAttr(Data[BankPlan]):
    """`#dla.banks<data_banks = 10, weight_banks = 6>`: a convolution's share of the convolution buffer."""

    name = "dla.banks"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> BankPlan:
        return parse_fields(parser, BankPlan)

    def print_parameter(self, printer: Printer) -> None:
        print_fields(printer, self.data)


@dataclass(frozen=True)
class Converter:
    """
    `dla_cvt_param`: `(x - offset) * scale >> truncate`, for integers (docs/internals/nvdla-hardware.md §4.2).
    """

    scale: int = 1
    truncate: int = 0
    offset: int = 0


@irdl_attr_definition
class ConverterAttr(Data[Converter]):
    """`#dla.converter<scale = 3, truncate = 7>`: the rescaling at an engine's end."""

    name = "dla.converter"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Converter:
        return parse_fields(parser, Converter)

    def print_parameter(self, printer: Printer) -> None:
        print_fields(printer, self.data)


@dataclass(frozen=True)
class Lut:
    """
    A lookup table of the SDP or CDP, with the descriptor's field names (docs/internals/nvdla-hardware.md
    §3.6, §4.3).

    Entries are what the engine holds: FP16 bits as signed integers, or integers. Linear tables step by
    `2^offset`; `*_underflow` and `*_overflow` are slopes outside of the table.
    """

    linear_exp_table: tuple[int, ...]
    linear_only_table: tuple[int, ...]
    linear_exp_offset: int
    linear_only_offset: int
    le_start: float = 0.0
    le_end: float = 0.0
    lo_start: float = 0.0
    lo_end: float = 0.0
    le_underflow: float = 0.0
    le_overflow: float = 0.0
    lo_underflow: float = 0.0
    lo_overflow: float = 0.0
    is_integer: bool = False
    """Whether bounds and entries are integers."""
    method: LutMethod = LutMethod.LINEAR
    hybrid_priority: LutTable = LutTable.LINEAR_ONLY
    underflow_priority: LutTable = LutTable.LINEAR_ONLY
    overflow_priority: LutTable = LutTable.LINEAR_EXP


@irdl_attr_definition
class LutAttr(Data[Lut]):
    """`#dla.lut<linear_exp_table = […], linear_only_table = […], …>`: 65 and 257 entries."""

    name = "dla.lut"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Lut:
        return parse_fields(parser, Lut)

    def print_parameter(self, printer: Printer) -> None:
        print_fields(printer, self.data)

    def verify(self) -> None:
        sizes = len(self.data.linear_exp_table), len(self.data.linear_only_table)
        if sizes != (65, 257):
            raise VerifyException(f"the tables have 65 and 257 entries, found {sizes[0]} and {sizes[1]}")
