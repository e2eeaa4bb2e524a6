"""
Builder that lowering functions receive: cubes of tensors, constants as arrays, the target, and refusals.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NoReturn, ParamSpec, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    LocationAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.dla.attributes import (
    ConstantLayout,
    Converter,
    ConverterAttr,
    LutAttr,
    SdpStage,
)
from xonnc.dialects.dla.engines import CdpOp, ConvOp, PdpOp, PowerOp, SdpOp, SoftmaxOp
from xonnc.dialects.dla.storage import ConstantOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, FlowType, cube_of, flow_type, is_tensor, shape_of
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.locations import UNKNOWN, derived
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.constant import ConstantOp as OnnxConstantOp
from xonnc.dialects.onnx.ops.nn import FlattenOp
from xonnc.dialects.onnx.ops.tensor import (
    ReshapeOp,
    SqueezeOp,
    SqueezeV11Op,
    TransposeOp,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
from xonnc.dialects.onnx.types import static_shape, tensor_type
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.pixel_normalization import Normalization
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget
from xonnc.targets.limits import DIMENSION

Array: TypeAlias = npt.NDArray[Any]
Operand: TypeAlias = tuple[SdpStage, SSAValue | None]

P = ParamSpec("P")
R = TypeVar("R")


ENGINES: tuple[tuple[type[Operation], str], ...] = (
    (ConvOp, "CONV"),
    (PdpOp, "PDP"),
    (CdpOp, "CDP"),
    (SoftmaxOp, "EMU"),
    (PowerOp, "EMU"),
    (SdpOp, "SDP"),
)
"""Engines by operation, in order of priority when an operator takes several."""

ENGINE_OPS = tuple(op_type for op_type, _ in ENGINES)


RESHAPES = (FlattenOp, ReshapeOp, SqueezeOp, SqueezeV11Op, TransposeOp, UnsqueezeOp, UnsqueezeV11Op)
"""Operators that are views, but for operators on rows and columns."""

FLOATS = (f16, bf16, f32, f64)
"""Element types of inputs that FP16 cubes represent."""


class UnsupportedOperator(Exception):
    """
    The current operator cannot be lowered; the message has the rule, the value found and a remedy.

    `boundary` is the function input that causes it, `cause` the operator before, if one does.
    """

    def __init__(self, rule: str, boundary: SSAValue | None = None, cause: Operation | None = None):
        self.boundary = boundary
        self.cause = cause
        super().__init__(rule)


class MissingOperand(UnsupportedOperator):
    """An operand of the current operator was itself refused, which has been reported."""


@dataclass(frozen=True)
class Cube:
    """
    A tensor of the model as a feature cube.

    `value` is a `tensor<1xCxHxW>` whose elements in row-major order are those of the model's tensor of
    `shape`: a reshape changes only `shape`.

    `factors` per position are still to be multiplied in. A 1x1 convolution does that in its own SDP pass, any
    convolution if the factors are equal. `qparams` are the scale and zero point of integers, `None` for
    FP16.
    """

    value: SSAValue
    shape: tuple[int, ...]
    factors: Array | None = None
    qparams: QuantizationParameters | None = None

    @property
    def zero_point(self) -> int:
        """The integer that means 0; 0 for FP16."""
        return 0 if self.qparams is None else self.qparams.zero_point

    @property
    def has_one_factor(self) -> bool:
        """Whether the factors of all positions are equal."""
        return self.factors is None or bool(np.all(self.factors == self.factors[0, 0]))

    @property
    def cube(self) -> CubeShape:
        """Channels, height and width in memory."""
        return cube_of(self.value.type)


@dataclass(frozen=True)
class ImageValue:
    """
    An input in a pixel format, and its normalization.

    `offset` is what 8-bit pixels of the model exceed signed ones by, `None` for float inputs. `qparams` are
    those of the QuantizeLinear after the input; `is_real` is set after the DequantizeLinear.
    """

    value: SSAValue
    shape: tuple[int, ...]
    pixels: Normalization
    offset: int | None = None
    qparams: QuantizationParameters | None = None
    is_real: bool = False


def cube_shape(shape: Sequence[int]) -> CubeShape | None:
    """
    Return the cube of a tensor: `1xCxHxW` as it is, `1xCxL` with height 1, `1xC` and `C` at one position.

    A batch, and leading dimensions of more than four, become channels. `None` for empty tensors.
    """
    if min(shape, default=1) < 1:
        return None
    if len(shape) < 3:
        return CubeShape(prod(shape), 1, 1)
    height = 1 if len(shape) == 3 else shape[-2]
    return CubeShape(prod(shape) // (height * shape[-1]), height, shape[-1])


def _stored_float(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which constants of an FP16 network are held until they are packed."""
    return dtype if dtype == np.float16 else np.dtype(np.float32)


class DlaBuilder:
    """Builds the operations of one operator after another, inserted before it."""

    def __init__(self, target: NvdlaTarget, pool: DisposablePool, precision: Precision):
        """`precision` is the one that the engines compute in."""
        self.target = target
        self.precision = precision
        self._pool = pool
        self._at: Operation | None = None
        self._location: LocationAttr = UNKNOWN
        """The location of the operations inserted for it."""
        self._added: set[Operation] = set()

    def __call__(self, op: Operation) -> SSAValue:
        """Insert `op` with a location derived from the current node; return its first result."""
        self.add(op)
        return op.results[0]

    def channels(self, source: SSAValue, begin: int, end: int) -> SSAValue:
        """Return channels `begin` to `end` of a cube, as a view."""
        part = cube_of(source.type)._replace(channels=end - begin)
        return self(SliceOp(source, (begin, 0, 0), self.cube_type(part)))

    def channels_of(self, source: Cube, begin: int, end: int) -> Cube:
        """Return channels `begin` to `end` of a tensor in memory."""
        return replace(source, value=self.channels(source.value, begin, end))

    def lookup(self, source: SSAValue, lut: LutAttr) -> SSAValue:
        """Look up every element in a table, one pass of the CDP."""
        return self(CdpOp(source, source.type, lut=lut, is_function=True))

    def add(self, op: Operation) -> None:
        """Insert `op` with a location derived from the current node."""
        assert self._at is not None, "start comes first"
        op.location = self._location
        self._check_sizes(op)
        Rewriter.insert_op(op, InsertPoint.before(self._at))
        self._added.add(op)

    def _check_sizes(self, op: Operation) -> None:
        """
        Refuse operations whose channels, rows or columns exceed the engines' register fields; views are
        exempt.
        """
        if not isinstance(op, ENGINE_OPS):
            return
        for type_ in (op.operands[0].type, *op.result_types):
            if is_tensor(type_) or isinstance(type_, FlowType):
                self.check(DIMENSION.broken(max(cube_of(type_))))

    def start(self, op: Operation) -> None:
        """Set the insertion point before `op`, the next operator."""
        self._at, self._location = op, derived(op.location)
        self._added = set()

    @property
    def engine(self) -> str:
        """The engine of the current operator, by the operations inserted for it; `view` for none."""
        added = {type(op) for op in self._added}
        return next((name for op_type, name in ENGINES if op_type in added), "view")

    def later(self, action: Callable[P, R]) -> Callable[P, R]:
        """Return an action of the current operator for a later one; it is the cause of refusals."""
        owner = self._at

        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return action(*args, **kwargs)
            except UnsupportedOperator as refused:
                refused.cause = refused.cause or owner
                raise

        return run

    def finish(self, value: SSAValue) -> None:
        """Give the operation that produces `value`, if new, the node's location with its result names."""
        if self._at is not None and isinstance(value.owner, Operation) and value.owner in self._added:
            value.owner.location = self._at.location

    def check_spatial(self, found: Cube) -> None:
        """Refuse if rows and columns in memory are not those of the model's tensor, because of a reshape."""
        if found.cube != cube_shape(found.shape):
            self.refuse(
                f"the reshape to {list(found.shape)} moves data (it is stored as {list(found.cube)}) for an "
                "operator on rows and columns; put it after that operator",
                cause=self.reshape_before(found.shape),
            )

    def reshape_before(self, shape: tuple[int, ...]) -> Operation | None:
        """Return the nearest operator before the current one that gives a tensor this shape as a view."""
        seen = set[Operation]()
        pending = deque([self._at] if self._at is not None else [])
        while pending:
            for value in pending.popleft().operands:
                maker = value.owner
                if not isinstance(maker, OnnxOp) or maker in seen:
                    continue
                if isinstance(maker, RESHAPES) and static_shape(value.type) == shape:
                    return maker
                seen.add(maker)
                pending.append(maker)
        return None

    def constant(self, value: SSAValue) -> Array | None:
        """Return the elements of a constant of the model, `None` for other values."""
        if not isinstance(value, OpResult) or not isinstance(value.op, OnnxConstantOp):
            return None
        return None if value.op.value is None else elements_array(value.op.value)

    def weights(self, value: SSAValue, what: str) -> Array:
        """Return the elements of an operand that must be constant."""
        array = self.constant(value)
        if array is None:
            self.refuse_computed(what)
        return array

    def refuse_computed(self, what: str) -> NoReturn:
        """Refuse an operand that must be constant."""
        self.refuse(f"{what} must be a constant, found a computed value")

    def result_shape(self, op: Operation) -> tuple[int, ...]:
        """Return the static shape of the first result of `op`."""
        shape = static_shape(op.results[0].type)
        if shape is None:
            self.refuse("the result has no static shape; run shape-inference-onnx or fix the input shapes")
        return shape

    def refuse(self, rule: str, boundary: SSAValue | None = None, cause: Operation | None = None) -> NoReturn:
        """
        Refuse the current operator, or the operator `cause` before it, because of which it cannot be lowered.

        `boundary` is the function input that causes it, if any.
        """
        raise UnsupportedOperator(rule, boundary, cause)

    def check(self, broken: str | None) -> None:
        """Refuse the current operator if a limit of the target is exceeded."""
        if broken is not None:
            self.refuse(broken)

    def kernels(self, array: Array) -> SSAValue:
        """Add convolution weights `KxCxRxS`."""
        return self._constant(array, ConstantLayout.KERNELS)

    def deferred_kernels(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], make: Callable[[], Array]
    ) -> SSAValue:
        """Add FP16 convolution weights that `make` computes when they are first read."""
        stored = _stored_float(dtype)
        value = self._pool.create_deferred(shape, stored, lambda: make().astype(stored, copy=False))
        return self(ConstantOp(value, ConstantLayout.KERNELS, tensor_type(shape, f16)))

    def per_kernel(self, array: Array) -> SSAValue:
        """Add an SDP operand with one value per channel."""
        return self._constant(array, ConstantLayout.PER_KERNEL)

    def constant_cube(self, array: Array) -> SSAValue:
        """Add an SDP operand `1xCxHxW` with one value per element."""
        return self._constant(array, ConstantLayout.CUBE)

    def conv(
        self,
        source: SSAValue,
        weights: SSAValue,
        window: Window2D,
        pad_value: int = 0,
        in_cvt: Converter | None = None,
        means: Sequence[int] | None = None,
    ) -> SSAValue:
        """
        Add a convolution; return its accumulator. `pad_value` is the stored integer of the padding; `in_cvt`
        and `means` convert pixels to integers.
        """
        rows, columns = window.output_size(cube_of(source.type))
        sums = f32 if self.precision is Precision.FP16 else i32
        flow = flow_type(tensor_type((1, shape_of(weights.type)[0], rows, columns), sums))
        return self(
            ConvOp(
                source,
                weights,
                flow,
                pads=window.pads,
                strides=window.strides,
                dilations=window.dilations,
                pad_value=pad_value,
                in_cvt=None if in_cvt is None else ConverterAttr(in_cvt),
                means=means,
            )
        )

    def sdp(self, source: SSAValue, stages: Sequence[Operand]) -> SSAValue:
        """Add an SDP pass that writes to memory."""
        return self(SdpOp(source, stages, self.cube_type(cube_of(source.type))))

    def requantized(
        self,
        source: SSAValue,
        stages: Sequence[Operand],
        converter: Converter,
        lut: LutAttr | None = None,
    ) -> SSAValue:
        """
        Add an SDP pass on integers whose output converter requantizes the result, looked up in `lut` first.
        """
        result = self.cube_type(cube_of(source.type))
        return self(SdpOp(source, stages, result, lut=lut, out_cvt=ConverterAttr(converter)))

    def _constant(self, array: Array, layout: ConstantLayout) -> SSAValue:
        if self.precision is Precision.FP16:
            elements = array.astype(_stored_float(array.dtype), copy=False)
            return self(ConstantOp(self._pool.create(elements), layout, tensor_type(array.shape, f16)))
        assert array.dtype in (np.int8, np.int16)
        element = i8 if array.dtype == np.int8 else i16
        return self(ConstantOp(self._pool.create(array), layout, tensor_type(array.shape, element)))

    def cube_type(self, cube: CubeShape) -> TensorType[Attribute]:
        """Return the type of a cube in memory."""
        return tensor_type((1, *cube), f16 if self.precision is Precision.FP16 else i8)
