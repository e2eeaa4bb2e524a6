"""The builder of NVDLA's hardware layers, as the functions of plug-ins see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xonnc.dialects.dla.attributes import Activation, PoolMode, SdpStage
from xonnc.dialects.dla.types import cube_of
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Cube, UnsupportedOperator
from xonnc.lowering.onnx_to_dla.builders.sdp_stages import MAXIMUM, MINIMUM, PRODUCT, RELU, SUM
from xonnc.lowering.onnx_to_dla.fp16.fp16_arithmetic import combine_constant, combine_cubes
from xonnc.lowering.onnx_to_dla.fp16.fp16_builder import Fp16Builder, fp16_lut
from xonnc.lowering.onnx_to_dla.operators.pooling import pool
from xonnc.plugins.operators import Array
from xonnc.targets import NvdlaTarget


@dataclass(frozen=True)
class FeatureCube:
    """A tensor in the layout of NVDLA's engines; `shape` is that of the model."""

    cube: Cube

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the model's tensor."""
        return self.cube.shape


Operand = FeatureCube | Array | float
"""A cube, a constant array, or a scalar."""


class LayerBuilder:
    """
    Adds hardware layers in float16, which the compiler fuses, splits and schedules like its own.

    A layer that the target or the engine cannot run is a refusal of the node, with the reason.
    """

    def __init__(self, builder: Fp16Builder) -> None:
        self._builder = builder

    @property
    def target(self) -> NvdlaTarget:
        """The hardware configuration: its features, buffer sizes and precisions."""
        return self._builder.target

    def refuse(self, reason: str) -> Exception:
        """Return the exception for a node that the DLA cannot run: `raise b.refuse("…")`."""
        return UnsupportedOperator(reason)

    def add(self, x: Operand, y: Operand) -> FeatureCube:
        """SDP: `x + y`; `y` is a cube, a scalar, or constant values per channel or per element."""
        return self._combined(x, y, SUM)

    def multiply(self, x: Operand, y: Operand) -> FeatureCube:
        """SDP: `x y`, operands as in `add`."""
        return self._combined(x, y, PRODUCT)

    def maximum(self, x: Operand, y: Operand) -> FeatureCube:
        """SDP: the larger elements, operands as in `add`."""
        return self._combined(x, y, MAXIMUM)

    def minimum(self, x: Operand, y: Operand) -> FeatureCube:
        """SDP: the smaller elements, operands as in `add`."""
        return self._combined(x, y, MINIMUM)

    def relu(self, x: FeatureCube) -> FeatureCube:
        """SDP: `max(x, 0)`."""
        return FeatureCube(Cube(self._builder.sdp(x.cube.value, [RELU]), x.shape))

    def prelu(self, x: FeatureCube, slope: Array | float) -> FeatureCube:
        """SDP: `x` where positive, else `slope x`; `slope` is a scalar or constant values per channel."""
        return self._combined(x, slope, SdpStage(type=PRODUCT.type, act=Activation.PRELU))

    def pool(
        self,
        x: FeatureCube,
        mode: Literal["average", "max", "min"],
        kernel: tuple[int, int],
        strides: tuple[int, int] = (1, 1),
        pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> FeatureCube:
        """
        PDP: pooling over rows and columns of `NxCxHxW`; averages divide by the whole window.

        `pads` are top, left, bottom and right.
        """
        if mode not in list(PoolMode):
            raise ValueError(f"pool mode '{mode}'; there are {', '.join(PoolMode)}")
        self._builder.check_spatial(x.cube)
        window = Window2D(kernel, strides, pads=pads)
        pooled = pool(x.cube.value, PoolMode(mode), window, self._builder)
        _, rows, columns = cube_of(pooled.type)
        return FeatureCube(Cube(pooled, (*x.shape[:-2], rows, columns)))

    def lookup(self, x: FeatureCube, function: Callable[[Array], Array]) -> FeatureCube:
        """CDP: a lookup table of a function of each element, from float64 arrays to float64 arrays."""
        table = fp16_lut(function, self._builder)
        return FeatureCube(Cube(self._builder.lookup(x.cube.value, table), x.shape))

    def _combined(self, x: Operand, y: Operand, stage: SdpStage) -> FeatureCube:
        if not isinstance(x, FeatureCube):
            x, y = y, x
        if not isinstance(x, FeatureCube):
            self._builder.refuse("all operands are constants; run constprop-onnx first")
        if isinstance(y, FeatureCube):
            shape = broadcast_shape(x.shape, y.shape, self._builder)
            return FeatureCube(combine_cubes(x.cube, y.cube, stage, shape, self._builder))
        constant = np.asarray(y, np.float32)
        shape = broadcast_shape(x.shape, constant.shape, self._builder)
        return FeatureCube(combine_constant(x.cube, constant, stage, shape, self._builder))


def broadcast_shape(a: Sequence[int], b: Sequence[int], builder: Fp16Builder) -> tuple[int, ...]:
    """Return the shape of two operands broadcast together; refuse if they do not broadcast."""
    try:
        return np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        builder.refuse(f"shapes {list(a)} and {list(b)} do not broadcast")
