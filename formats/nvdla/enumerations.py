"""Enumerations of NVDLA loadables and descriptors (docs/internals/nvdla-hardware.md §1.1, §2.2)."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class Interface(IntEnum):
    """The processor of a blob or task."""

    NONE = 0
    DLA1 = 1
    EMU1 = 2


class MemoryDomain(IntEnum):
    """Location of a memory object."""

    SYSTEM = 0
    SRAM = 1


class MemoryFlags(IntFlag):
    """The runtime's action on a memory object while loading."""

    NONE = 0
    ALLOC = 1
    SET = 2
    INPUT = 4
    OUTPUT = 8
    DEBUG = 16


class EventOp(IntEnum):
    """The operation of a task on an event of the loadable."""

    WAIT = 0
    SIGNAL = 1


class DataFormat(IntEnum):
    """Dimension order of a bound tensor."""

    UNKNOWN = 0
    NCHW = 1
    NHWC = 2
    NCXHWX = 3


class DataType(IntEnum):
    """Element type of a bound tensor."""

    UNKNOWN = 0
    FLOAT = 1
    HALF = 2
    INT16 = 3
    INT8 = 4
    UINT8 = 5
    UINT16 = 6


class DataCategory(IntEnum):
    """Kind of a bound tensor."""

    IMAGE = 0
    WEIGHT = 1
    FEATURE = 2
    PLANAR = 3
    BIAS = 4


class PixelMapping(IntEnum):
    """Memory layout of pixels."""

    PITCH_LINEAR = 0
    INVALID = 1


class PixelFormat(IntEnum):
    """
    Pixel formats of bound tensors and of image inputs; names list components from the most significant byte
    down.
    """

    R8 = 0
    R10 = 1
    R12 = 2
    R16 = 3
    R16_I = 4
    R16_F = 5
    A16B16G16R16 = 6
    X16B16G16R16 = 7
    A16B16G16R16_F = 8
    A16Y16U16V16 = 9
    V16U16Y16A16 = 10
    A16Y16U16V16_F = 11
    A8B8G8R8 = 12
    A8R8G8B8 = 13
    B8G8R8A8 = 14
    R8G8B8A8 = 15
    X8B8G8R8 = 16
    X8R8G8B8 = 17
    B8G8R8X8 = 18
    R8G8B8X8 = 19
    A2B10G10R10 = 20
    A2R10G10B10 = 21
    B10G10R10A2 = 22
    R10G10B10A2 = 23
    A2Y10U10V10 = 24
    V10U10Y10A2 = 25
    A8Y8U8V8 = 26
    V8U8Y8A8 = 27
    Y8_U8V8_N444 = 28
    Y8_V8U8_N444 = 29
    Y10_U10V10_N444 = 30
    Y10_V10U10_N444 = 31
    Y12_U12V12_N444 = 32
    Y12_V12U12_N444 = 33
    Y16_U16V16_N444 = 34
    Y16_V16U16_N444 = 35
    FEATURE = 36
    FEATURE_X8 = 37


class OpType(IntEnum):
    """The engines, in the order of the consumer slots."""

    BDMA = 0
    CONV = 1
    SDP = 2
    PDP = 3
    CDP = 4
    RUBIK = 5


class MemoryType(IntEnum):
    """Location of a data cube: DRAM, SRAM, or on the fly between engines."""

    MC = 0
    CV = 1
    HW = 2


class Event(IntEnum):
    """Events that wake consumers of an operation."""

    OP_COMPLETED = 1
    OP_PROGRAMMED = 2
    OP_ENABLED = 3
    CDMA_WT_DONE = 4
    CDMA_DT_DONE = 5


class Precision(IntEnum):
    """Element types of the engines."""

    INT8 = 0
    INT16 = 1
    FP16 = 2

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return 1 if self is Precision.INT8 else 2


class ConvMode(IntEnum):
    """Convolution algorithm."""

    DIRECT = 0
    WINOGRAD = 1


class WeightFormat(IntEnum):
    """Memory layout of weights."""

    UNCOMPRESSED = 0
    COMPRESSED = 1


class Activation(IntEnum):
    """Activation after an SDP stage."""

    NONE = 0
    RELU = 1
    LUT = 2
    PRELU = 3


class SdpOpType(IntEnum):
    """Active units of an SDP stage."""

    NONE = 0
    MUL = 1
    ADD = 2
    BOTH = 3


class AluType(IntEnum):
    """ALU function of an SDP stage."""

    MAX = 0
    MIN = 1
    SUM = 2
    EQL = 3


class SdpMode(IntEnum):
    """Source of an SDP stage's operands: the descriptor, one per channel, or one per element."""

    PER_LAYER = 0
    PER_KERNEL = 1
    PER_POINT = 2


class LutMethod(IntEnum):
    """The index mode of the 65-entry table."""

    EXPONENTIAL = 0
    LINEAR = 1


class LutPriority(IntEnum):
    """The table with priority: 65 entries or 257 entries."""

    LINEAR_EXP = 0
    LINEAR_ONLY = 1


class PoolMode(IntEnum):
    """Pooling function of the PDP."""

    AVG = 0
    MAX = 1
    MIN = 2


class RubikMode(IntEnum):
    """Reshape of the Rubik engine."""

    CONTRACT = 0
    SPLIT = 1
    MERGE = 2


class EmuOpType(IntEnum):
    """Operations of the runtime's CPU emulator."""

    POWER = 0
    SOFTMAX = 1


class EmuFormat(IntEnum):
    """Buffer formats of the CPU emulator; INT8_8 is the 8-byte cube of nv_small."""

    INT8 = 0
    INT8_8 = 1
    INT16 = 2
    FF16 = 3
    UINT8 = 4
    UINT16 = 5
