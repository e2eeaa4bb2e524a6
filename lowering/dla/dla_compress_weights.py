"""
`dla-compress-weights`: store weights with many zeros as masks and nonzero elements.

NVDLA's first design reads such weights (docs/internals/nvdla-hardware.md §3.4): a bit for each element, and
the elements whose bit is set. The sums are the same. Kernels of merged groups have zeros between the groups,
pruned networks elsewhere. The mask takes a bank of the convolution buffer, so weights are compressed only
where the convolution fits the others in one tile and the network ends earlier by the cycle model.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from xonnc.dialects.dla.attributes import ConstantLayout
from xonnc.dialects.dla.engines import ConvOp
from xonnc.dialects.dla.storage import ConstantOp
from xonnc.dialects.dla.types import image_of
from xonnc.lowering.dla.fused_layers import FusedLayer, fused_layers
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.packing import constant_bytes, count_nonzero
from xonnc.lowering.dla.pipelined_plans import SingleCycles, cycles_of, fits_compressed
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, load_target

MAX_RATIO = 7 / 8
"""Weights are compressed if they take at most this part of their bytes."""


@dataclass(frozen=True)
class DlaCompressWeights(ModulePass):
    """Compress weights with many zeros where the target reads them and that takes fewer cycles."""

    name = "dla-compress-weights"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        compress_weights(op, load_target(self.target))


def compress_weights(module: ModuleOp, target: NvdlaTarget) -> None:
    """Compress the weights of every convolution of `module` where that takes fewer cycles."""
    if not target.weight_compression:
        return
    for block in blocks(module):
        _compress(block, target)


def _compress(block: Block, target: NvdlaTarget) -> None:
    layers = list(fused_layers(block))
    alone = SingleCycles(target)
    chosen = [constant for layer in layers if (constant := _compressed(layer, target, alone)) is not None]
    if not chosen:
        return
    after = cycles_of(layers, target)
    for constant in chosen:
        constant.restore()
    if after < cycles_of(layers, target):
        for constant in chosen:
            constant.compress()


def _compressed(layer: FusedLayer, target: NvdlaTarget, alone: SingleCycles) -> _Weights | None:
    """Compress the weights of a layer if it then takes fewer cycles by itself; return them."""
    conv = layer.ops[0]
    if not isinstance(conv, ConvOp) or not isinstance(conv.weights.owner, ConstantOp):
        return None
    if image_of(conv.source.type) is not None:
        # Pixels and masks together are not known to work.
        return None
    constant = conv.weights.owner
    if constant.layout is not ConstantLayout.KERNELS or not constant.result.has_one_use():
        return None
    if not may_decide(DlaCompressWeights.name, "compressed weights", conv):
        return None
    weights = _Weights(constant, count_nonzero(constant))
    plain = constant_bytes(constant, target)
    weights.compress()
    if constant_bytes(constant, target) <= MAX_RATIO * plain and fits_compressed(layer, target):
        after = alone.of(layer)
        weights.restore()
        if after < alone.of(layer):
            weights.compress()
            return weights
    weights.restore()
    return None


@dataclass(frozen=True)
class _Weights:
    """A constant with plain or compressed kernels, `nonzero` of whose elements are not zero."""

    constant: ConstantOp
    nonzero: int

    def compress(self) -> None:
        self.constant.set_layout(ConstantLayout.COMPRESSED_KERNELS, self.nonzero)

    def restore(self) -> None:
        self.constant.set_layout(ConstantLayout.KERNELS)
