"""Operations of NVDLA's engines; each is one hardware layer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f16,
    f32,
    i8,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.dla.attributes import (
    Activation,
    BankPlanAttr,
    ConverterAttr,
    LutAttr,
    OperandMode,
    PoolMode,
    SdpStage,
    StageAttr,
    StageFunction,
)
from xonnc.dialects.dla.types import (
    CONSTANT,
    CUBE,
    CUBE_OR_IMAGE,
    IN_MEMORY,
    FlowType,
    cube_of,
    image_of,
    shape_of,
    tensor_of,
)

IntegerArray: TypeAlias = DenseArrayBase[IntegerType]
"""`array<i64: …>`."""

SPATIAL_AXES = ("height", "width")
PAD_SIDES = ("top", "left", "bottom", "right")

WINOGRAD_KERNEL = 3
"""Rows and columns of the kernels that Winograd's algorithm takes."""

WINOGRAD_TILE = 4
"""Rows and columns of a convolution with Winograd's algorithm are multiples of this."""


def integers(values: Sequence[int]) -> IntegerArray:
    """`array<i64: …>`, memoised."""
    return _integers(tuple(values))


@cache
def _integers(values: tuple[int, ...]) -> IntegerArray:
    return DenseArrayBase.from_list(i64, values)


@cache
def integer(value: int) -> IntegerAttr[IntegerType]:
    """`value : i64`, memoised."""
    return IntegerAttr(value, i64)


def values_of(array: IntegerArray, names: Sequence[str], what: str, least: int) -> tuple[int, ...]:
    """
    Return the entries of an integer array; a verification error unless there is one per name, none below
    `least`.
    """
    values = tuple(array.get_values())
    if len(values) != len(names):
        raise VerifyException(f"{what} has {len(names)} entries ({', '.join(names)}), found {len(values)}")
    if min(values) < least:
        raise VerifyException(f"{what} is at least {least}, found {min(values)}")
    return values


def window_count(size: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> int:
    """
    Return how many windows fit into one padded dimension (docs/internals/nvdla-hardware.md §3.7); 0 or less
    if none.
    """
    return (size + before + after - (dilation * (kernel - 1) + 1)) // stride + 1


@irdl_op_definition
class ConvOp(IRDLOperation):
    """
    A convolution, its sums left in the accumulator for the SDP (docs/internals/nvdla-hardware.md §4.1).

    1. `source` is `1xCxHxW`, `weights` are `KxCxRxS`, the accumulator is `1xKxH'xW'`.
    2. `H' = (H + top + bottom - (dilation (R - 1) + 1)) div stride + 1`, `W'` likewise.
    3. The accumulator goes to exactly one `dla.sdp`, as its source.
    4. Of an image (`!dla.image`) of C channels `weights` are `K x CS x R x 1`: a kernel's columns are folded
       into its channels, those of the first column first; there is no dilation along the columns.
    5. `means` are one number for each channel of an image, in place of the offset of `in_cvt`, which converts
       integers as they are read (docs/internals/nvdla-hardware.md §3.3).
    6. With `is_winograd` Winograd's algorithm F(2x2, 3x3) computes the sums, with rounding of its own: of a
       feature cube, by kernels of 3 x 3 with the layout `winograd_kernels`, without strides and dilation;
       H' and W' are multiples of 4 (docs/internals/nvdla-hardware.md §3.4).

    ```mlir
    %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
                              strides = array<i64: 1, 1>}>
       : (tensor<1x16x8x8xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x8x8xf32>>
    ```
    """

    name = "dla.conv"

    source = operand_def(CUBE_OR_IMAGE)
    weights = operand_def(CONSTANT)
    accumulator = result_def(FlowType)

    pads = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    truncate = prop_def(BaseAttr(IntegerAttr), default_value=IntegerAttr(0, i64))
    pad_value = prop_def(BaseAttr(IntegerAttr), default_value=IntegerAttr(0, i64))
    in_cvt = opt_prop_def(ConverterAttr)
    means = opt_prop_def(DenseArrayBase.constr(i64))
    is_winograd = opt_prop_def(UnitAttr)
    banks = opt_prop_def(BankPlanAttr)

    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        weights: SSAValue,
        result_type: FlowType,
        *,
        pads: Sequence[int] = (0, 0, 0, 0),
        strides: Sequence[int] = (1, 1),
        dilations: Sequence[int] = (1, 1),
        truncate: int = 0,
        pad_value: int = 0,
        in_cvt: ConverterAttr | None = None,
        means: Sequence[int] | None = None,
        banks: BankPlanAttr | None = None,
    ):
        """`pad_value` is the stored integer of the padding, after conversion."""
        properties: dict[str, Attribute | None] = {
            "pads": integers(pads),
            "strides": integers(strides),
            "dilations": integers(dilations),
            "truncate": integer(truncate),
            "pad_value": integer(pad_value),
            "in_cvt": in_cvt,
            "means": None if means is None else integers(means),
            "banks": banks,
        }
        super().__init__(operands=[source, weights], result_types=[result_type], properties=properties)

    def clone_with(
        self,
        source: SSAValue,
        weights: SSAValue,
        result_type: FlowType,
        pads: Sequence[int],
        banks: BankPlanAttr | None,
    ) -> ConvOp:
        """Return the same convolution with other operands, for some of its rows or kernels."""
        result = ConvOp(source, weights, result_type, pads=pads, banks=banks)
        retained = {name: value for name, value in self.properties.items() if name not in ("banks", "pads")}
        result.properties.update(retained)
        return result

    @property
    def kernel(self) -> tuple[int, int]:
        """Rows and columns of a kernel, those folded into channels included."""
        _, channels, rows, columns = shape_of(self.weights.type)
        if image_of(self.source.type) is None:
            return rows, columns
        return rows, channels // cube_of(self.source.type).channels

    def verify_(self) -> None:
        top, left, bottom, right = values_of(self.pads, PAD_SIDES, "pads", 0)
        strides = values_of(self.strides, SPATIAL_AXES, "strides", 1)
        dilations = values_of(self.dilations, SPATIAL_AXES, "dilations", 1)
        source, result = cube_of(self.source.type), cube_of(self.accumulator.type)
        self._verify_weights()
        rows, columns = self.kernel
        expected = (
            shape_of(self.weights.type)[0],
            window_count(source.height, rows, strides[0], dilations[0], top, bottom),
            window_count(source.width, columns, strides[1], dilations[1], left, right),
        )
        check_shape("the accumulator", result, expected)
        check_single_reader(self.accumulator, "the accumulator", SdpOp)
        if self.is_winograd is not None:
            self._verify_winograd(strides, dilations)

    def _verify_winograd(self, strides: Sequence[int], dilations: Sequence[int]) -> None:
        if image_of(self.source.type) is not None:
            raise VerifyException("is_winograd is for feature cubes, found an image")
        if self.kernel != (WINOGRAD_KERNEL, WINOGRAD_KERNEL) or {*strides, *dilations} != {1}:
            raise VerifyException(
                f"is_winograd takes 3x3 kernels with strides and dilations of 1, found "
                f"{'x'.join(map(str, self.kernel))}, strides {strides} and dilations {dilations}"
            )
        result = cube_of(self.accumulator.type)
        if result.height % WINOGRAD_TILE or result.width % WINOGRAD_TILE:
            raise VerifyException(
                f"is_winograd gives rows and columns in multiples of {WINOGRAD_TILE}, found "
                f"{result.height}x{result.width}"
            )

    def _verify_weights(self) -> None:
        channels, weights = cube_of(self.source.type).channels, shape_of(self.weights.type)
        found = "x".join(map(str, weights))
        if image_of(self.source.type) is None:
            if len(weights) != 4 or weights[1] != channels:
                raise VerifyException(f"weights are Kx{channels}xRxS, found {found}")
            if self.means is not None:
                raise VerifyException("means are for images, found a feature cube")
            return
        if (
            len(weights) != 4
            or weights[1] % channels
            or weights[3] != 1
            or self.dilations.get_values()[1] != 1
        ):
            raise VerifyException(
                f"weights over pixels are KxCSxRx1 with CS a multiple of {channels}, columns undilated; "
                f"found {found} and dilations {self.dilations.get_values()}"
            )
        if self.means is not None:
            values_of(self.means, "RGBA"[:channels], "means", -(1 << 15))


@irdl_op_definition
class SdpOp(IRDLOperation):
    """
    The single data processor: up to three stages on every element, then the conversion to the result's type
    (§4.2).

    1. `source` and `result` have one shape.
    2. A stage that reads memory has its operand (`x1`, `x2`, `y`), any other has none.
    3. The operand of a `per_kernel` stage is `C`, a cube `1xCx1x1`, or `Cx2` (ALU, MUL) for `both`; of a
       `per_point` stage a cube of the source's shape.
    4. A result that is a flow goes to exactly one `dla.pdp`.
    5. A stage with a `mul_offset` is Y, and reads memory.
    6. Y has no ReLU: the hardware has no such bit there (§4.2).
    7. A lookup table (`act = lut`) is Y's alone, and `lut` is its contents (§4.3).

    ```mlir
    %y = "dla.sdp"(%a, %bias) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>,
                                x1_stage = #dla.stage<type = alu, mode = per_kernel, act = relu>}>
       : (!dla.flow<tensor<1x32x8x8xf32>>, tensor<32xf16>) -> tensor<1x32x8x8xf16>
    ```
    """

    name = "dla.sdp"

    source = operand_def(CUBE)
    x1 = opt_operand_def(CONSTANT)
    x2 = opt_operand_def(CONSTANT)
    y = opt_operand_def(CONSTANT)
    result = result_def(CUBE)

    x1_stage = opt_prop_def(StageAttr)
    x2_stage = opt_prop_def(StageAttr)
    y_stage = opt_prop_def(StageAttr)
    lut = opt_prop_def(LutAttr)
    out_cvt = opt_prop_def(ConverterAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    STAGES: ClassVar[tuple[str, ...]] = ("x1", "x2", "y")

    def __init__(
        self,
        source: SSAValue,
        stages: Sequence[tuple[SdpStage, SSAValue | None]],
        result_type: Attribute,
        *,
        lut: LutAttr | None = None,
        out_cvt: ConverterAttr | None = None,
    ):
        """`stages` are those of X1, X2 and Y in this order; missing ones are disabled."""
        padded = [*stages, *[(SdpStage(), None)] * (3 - len(stages))]
        operands = [[operand] if operand is not None else [] for _, operand in padded]
        properties: dict[str, Attribute | None] = {
            f"{name}_stage": StageAttr(stage) if stage != SdpStage() else None
            for name, (stage, _) in zip(self.STAGES, padded, strict=True)
        }
        super().__init__(
            operands=[source, *operands],
            result_types=[result_type],
            properties=properties | {"lut": lut, "out_cvt": out_cvt},
        )

    def clone_with(
        self, source: SSAValue, stages: Sequence[tuple[SdpStage, SSAValue | None]], result_type: Attribute
    ) -> SdpOp:
        """Return the same pass with other operands, for some of its rows or channels."""
        return SdpOp(source, stages, result_type, lut=self.lut, out_cvt=self.out_cvt)

    @property
    def stages(self) -> tuple[tuple[SdpStage, SSAValue | None], ...]:
        """The stages X1, X2 and Y with their operands; `SdpStage()` if disabled."""
        return (
            (self.x1_stage.data if self.x1_stage else SdpStage(), self.x1),
            (self.x2_stage.data if self.x2_stage else SdpStage(), self.x2),
            (self.y_stage.data if self.y_stage else SdpStage(), self.y),
        )

    def verify_(self) -> None:
        source = cube_of(self.source.type)
        check_shape("the result", cube_of(self.result.type), source)
        if (self.lut is not None) != (self.stages[2][0].act is Activation.LUT):
            found = "none" if self.lut is None else "one"
            raise VerifyException(f"there is a lut if y looks up (act lut), found {found}")
        for name, (stage, operand) in zip(self.STAGES, self.stages, strict=True):
            if stage.reads_memory != (operand is not None):
                found = "one" if operand is not None else "none"
                raise VerifyException(f"{name} has an operand if its stage reads memory, found {found}")
            if stage.mul_offset and (name != "y" or operand is None):
                raise VerifyException(
                    f"a mul_offset is for operands of y in memory, found {stage.mul_offset} at {name}"
                )
            if stage.act is Activation.LUT and name != "y":
                raise VerifyException(f"the lookup table is y's alone, found act lut at {name}")
            if name == "y" and stage.act is Activation.RELU:
                # The firmware accepts the field and writes it nowhere.
                raise VerifyException("y has no relu: the hardware would do nothing; use alu max with 0")
            if operand is None:
                continue
            shape = shape_of(operand.type)
            expected = tuple(cube_of(operand.type)) if len(shape) == 4 else shape
            if stage.mode is OperandMode.PER_POINT:
                check_shape(f"the operand {name}", expected, source)
            elif stage.type is StageFunction.BOTH:
                check_shape(f"the operand {name}", shape, (source.channels, 2))
            elif len(shape) == 4:
                check_shape(f"the operand {name}", expected, (source.channels, 1, 1))
            else:
                check_shape(f"the operand {name}", shape, (source.channels,))
        check_single_reader(self.result, "the flow", PdpOp)


@irdl_op_definition
class PdpOp(IRDLOperation):
    """
    The planar data processor: pooling (docs/internals/nvdla-hardware.md §4.5). `average` divides by the whole
    window, padding included, which is `pad_value`.

    1. `source` and `result` have the same channels.
    2. `H' = (H + top + bottom - kernel) div stride + 1`, `W'` likewise; pads are below the kernel.
    3. The columns go in `split_num` pieces; more than one need a source in memory.
    4. The last windows reach the last row and the last column. What is left over stays in the hardware's
       pipeline: it hangs, or the next pooling does (§9.2). A slice of the source leaves it out.
    5. `pad_value` fits `i8`; it is 0 unless `mode` is `average` and elements are `i8`.

    ```mlir
    %y = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>,
                         split_num = 1, strides = array<i64: 2, 2>}> : (tensor<1x16x8x8xf16>) ->
                         tensor<1x16x4x4xf16>
    ```
    """

    name = "dla.pdp"

    source = operand_def(CUBE)
    result = result_def(IN_MEMORY)

    mode_name = prop_def(StringAttr, prop_name="mode")
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    split_num = prop_def(BaseAttr(IntegerAttr), default_value=IntegerAttr(1, i64))
    pad_value = prop_def(BaseAttr(IntegerAttr), default_value=IntegerAttr(0, i64))

    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        result_type: Attribute,
        *,
        mode: PoolMode,
        kernel: Sequence[int],
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        split_num: int = 1,
        pad_value: int = 0,
    ):
        """`pad_value` is the stored integer of the padding of averages."""
        properties: dict[str, Attribute | None] = {
            "mode": StringAttr(mode.value),
            "kernel": integers(kernel),
            "strides": integers(strides),
            "pads": integers(pads),
            "split_num": integer(split_num),
            "pad_value": integer(pad_value),
        }
        super().__init__(operands=[source], result_types=[result_type], properties=properties)

    @property
    def mode(self) -> PoolMode:
        """The pooling function."""
        return PoolMode(self.mode_name.data)

    def verify_(self) -> None:
        if self.mode_name.data not in list(PoolMode):
            raise VerifyException(f"mode is average, max or min, found {self.mode_name.data}")
        top, left, bottom, right = values_of(self.pads, PAD_SIDES, "pads", 0)
        strides = values_of(self.strides, SPATIAL_AXES, "strides", 1)
        kernel = values_of(self.kernel, SPATIAL_AXES, "kernel", 1)
        if max(top, bottom) >= kernel[0] or max(left, right) >= kernel[1]:
            raise VerifyException(f"pads are below the kernel {kernel}, found {(top, left, bottom, right)}")
        source = cube_of(self.source.type)
        expected = (
            source.channels,
            window_count(source.height, kernel[0], strides[0], 1, top, bottom),
            window_count(source.width, kernel[1], strides[1], 1, left, right),
        )
        check_shape("the result", cube_of(self.result.type), expected)
        left_over = (
            source.height - ((expected[1] - 1) * strides[0] + kernel[0] - top),
            source.width - ((expected[2] - 1) * strides[1] + kernel[1] - left),
        )
        if max(left_over) > 0:
            rows, columns = (max(count, 0) for count in left_over)
            raise VerifyException(
                f"the windows leave {rows} rows and {columns} columns over; take a slice of what they reach"
            )
        if self.split_num.value.data < 1:
            raise VerifyException(f"split_num is at least 1, found {self.split_num.value.data}")
        if self.split_num.value.data > 1 and isinstance(self.source.type, FlowType):
            raise VerifyException("split_num above 1 needs a source in memory, found a flow")
        self._verify_pad_value()

    def _verify_pad_value(self) -> None:
        value = self.pad_value.value.data
        if value and (self.mode is not PoolMode.AVERAGE or tensor_of(self.result.type).element_type != i8):
            raise VerifyException(f"pad_value is 0 but for averages of i8, found {value}")
        if not -128 <= value <= 127:
            raise VerifyException(f"pad_value is -128 to 127, found {value}")


@irdl_op_definition
class CdpOp(IRDLOperation):
    """
    The cross-channel data processor: `x * lut(sum of squares over local_size channels)`, or `lut(x)` alone if
    `is_function` (docs/internals/nvdla-hardware.md §4.4).

    `in_cvt` and `out_cvt` rescale integers before and after.

    1. `source` and `result` have one shape.
    2. `local_size` is odd: as many channels on either side.
    3. FP16 has no converters.

    ```mlir
    %y = "dla.cdp"(%x) <{local_size = 5 : i64, lut = #dla.lut<…>}>
       : (tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
    ```
    """

    name = "dla.cdp"

    source = operand_def(IN_MEMORY)
    result = result_def(IN_MEMORY)

    local_size = prop_def(BaseAttr(IntegerAttr))
    lut = prop_def(LutAttr)
    is_function = opt_prop_def(UnitAttr)
    in_cvt = opt_prop_def(ConverterAttr)
    out_cvt = opt_prop_def(ConverterAttr)

    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        result_type: Attribute,
        *,
        lut: LutAttr,
        local_size: int = 3,
        is_function: bool = False,
        in_cvt: ConverterAttr | None = None,
        out_cvt: ConverterAttr | None = None,
    ):
        properties: dict[str, Attribute | None] = {
            "local_size": integer(local_size),
            "lut": lut,
            "is_function": UnitAttr() if is_function else None,
            "in_cvt": in_cvt,
            "out_cvt": out_cvt,
        }
        super().__init__(operands=[source], result_types=[result_type], properties=properties)

    def verify_(self) -> None:
        check_shape("the result", cube_of(self.result.type), cube_of(self.source.type))
        size = self.local_size.value.data
        if size < 1 or size % 2 == 0:
            raise VerifyException(f"local_size is odd, found {size}")
        converts = self.in_cvt is not None or self.out_cvt is not None
        if converts and tensor_of(self.source.type).element_type == f16:
            raise VerifyException("fp16 has no converters (docs/internals/nvdla-hardware.md §4.4)")


@irdl_op_definition
class SoftmaxOp(IRDLOperation):
    """
    Softmax over the channels, on the CPU emulator as a task of its own (docs/internals/nvdla-hardware.md
    §2.5).

    1. `source` and `result` are `1xCx1x1`: the emulator reads C consecutive elements.

    ```mlir
    %y = "dla.softmax"(%x) : (tensor<1x1000x1x1xf16>) -> tensor<1x1000x1x1xf16>
    ```
    """

    name = "dla.softmax"

    source = operand_def(IN_MEMORY)
    result = result_def(IN_MEMORY)

    input_scale = prop_def(BaseAttr(FloatAttr), default_value=FloatAttr(1.0, f32))
    output_scale = prop_def(BaseAttr(FloatAttr), default_value=FloatAttr(1.0, f32))

    traits = traits_def(Pure())

    def __init__(
        self, source: SSAValue, result_type: Attribute, *, input_scale: float = 1.0, output_scale: float = 1.0
    ):
        """The scales are those of integer tensors; float tensors have 1."""
        super().__init__(
            operands=[source],
            result_types=[result_type],
            properties={
                "input_scale": FloatAttr(input_scale, f32),
                "output_scale": FloatAttr(output_scale, f32),
            },
        )

    def verify_(self) -> None:
        source = cube_of(self.source.type)
        if source.positions != 1:
            raise VerifyException(f"softmax takes 1xCx1x1, found 1x{'x'.join(map(str, source))}")
        check_shape("the result", cube_of(self.result.type), source)


@irdl_op_definition
class PowerOp(IRDLOperation):
    """
    `(shift + scale x) ^ power` for every element, on the CPU emulator as a task of its own
    (docs/internals/nvdla-hardware.md §2.5).

    1. `source` and `result` have one shape.

    ```mlir
    %y = "dla.power"(%x) <{power = 5.0e-01 : f32, scale = 1.0 : f32, shift = 0.0 : f32}>
       : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
    ```
    """

    name = "dla.power"

    source = operand_def(IN_MEMORY)
    result = result_def(IN_MEMORY)

    power = prop_def(BaseAttr(FloatAttr))
    scale = prop_def(BaseAttr(FloatAttr), default_value=FloatAttr(1.0, f32))
    shift = prop_def(BaseAttr(FloatAttr), default_value=FloatAttr(0.0, f32))

    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        result_type: Attribute,
        *,
        power: float,
        scale: float = 1.0,
        shift: float = 0.0,
    ):
        numbers = {"power": power, "scale": scale, "shift": shift}
        super().__init__(
            operands=[source],
            result_types=[result_type],
            properties={name: FloatAttr(number, f32) for name, number in numbers.items()},
        )

    def verify_(self) -> None:
        check_shape("the result", cube_of(self.result.type), cube_of(self.source.type))


def check_shape(what: str, found: Sequence[int], expected: Sequence[int]) -> None:
    """Raise a verification error unless the shapes are equal."""
    if tuple(found) != tuple(expected):
        raise VerifyException(f"{what} is {_dimensions(expected)}, found {_dimensions(found)}")


def check_single_reader(value: SSAValue, what: str, reader: type[IRDLOperation]) -> None:
    """Raise a verification error if `value` is a flow that does not go to exactly one `reader`."""
    if not isinstance(value.type, FlowType):
        return
    uses = list(value.uses)
    if len(uses) != 1 or not isinstance(uses[0].operation, reader) or uses[0].index != 0:
        raise VerifyException(f"{what} goes to exactly one {reader.name}, as its source")


def _dimensions(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
