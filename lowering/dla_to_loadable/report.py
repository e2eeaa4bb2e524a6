"""
The report of one compiled network: layers, memory, traffic; estimates after docs/internals/nvdla-hardware.md
§8.3 and §8.4.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from xonnc.dialects.dla.attributes import MemoryRole
from xonnc.dialects.dla.engines import ConvOp
from xonnc.dialects.dla.storage import ConstantOp, KernelsOp, MemoryOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import FlowType, PackedType, SurfaceType, cube_of
from xonnc.dialects.onnx.locations import node_name
from xonnc.formats.nvdla.geometry import surfaces
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.performance import HardwareLayer, Performance, performance
from xonnc.lowering.dla.fused_layers import FusedLayer
from xonnc.lowering.dla.lifetimes import ACTIVATIONS
from xonnc.lowering.dla.network_checks import memory_of, network
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.lowering.dla_to_loadable.emit_loadable import tasks
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import NODES_ATTRIBUTE, PRECISIONS_ATTRIBUTE
from xonnc.targets import NvdlaTarget


@dataclass(frozen=True)
class CompileReport:
    """
    Sizes in bytes, cycles of the core's clock, and milliseconds.

    `layers_by_engine` counts hardware layers, `nodes_by_engine` nodes of the simplified model by engine
    (`view`: no operation needed), `nodes_by_precision` those that compute by precision.
    """

    target: str
    layers_by_engine: dict[str, int]
    nodes_by_engine: dict[str, int]
    nodes_by_precision: dict[str, int]
    performance: Performance
    conv_splits: dict[str, int]
    activation_bytes: int
    activation_peak: int
    """Peak of live activations in the order of the layers."""
    activation_lower_bound: int
    """Lower bound of the peak over all orders of the layers."""
    activation_bytes_apart: int
    """Total size with a buffer for each cube that an engine or a concatenation produces."""
    weight_bytes: int
    input_bytes: int
    output_bytes: int

    @property
    def layers(self) -> tuple[HardwareLayer, ...]:
        """The hardware layers in the order in which they run."""
        return self.performance.layers

    @property
    def macs(self) -> int:
        """Multiply-accumulate operations."""
        return self.performance.macs

    @property
    def cycles(self) -> int:
        """Total over all layers, which run one after another."""
        return self.performance.cycles

    @property
    def milliseconds(self) -> float:
        """The estimated latency."""
        return self.performance.milliseconds

    @property
    def dram_bytes(self) -> int:
        """Total size of the memory objects with data of the network."""
        return self.activation_bytes + self.weight_bytes + self.input_bytes + self.output_bytes


def report_of(module: ModuleOp, target: NvdlaTarget, loadable: Loadable) -> CompileReport:
    """Return the report of a module after `dla-allocate`, and of its loadable."""
    function, block = network(module)
    all_fused = [fused for group in tasks(function) for fused in group]
    cost = performance(loadable, target).with_nodes([node_name(fused.ops[-1]) for fused in all_fused])
    constants = [op for op in block.ops if isinstance(op, ConstantOp)]
    peak, lower_bound = _bounds(module)
    return CompileReport(
        target=target.name,
        layers_by_engine=dict(Counter(engine for layer in cost.layers for engine in layer.engines)),
        nodes_by_engine=_counts(function, NODES_ATTRIBUTE),
        nodes_by_precision=_counts(function, PRECISIONS_ATTRIBUTE),
        performance=cost,
        conv_splits=_conv_splits(all_fused),
        activation_bytes=_memory_bytes(module, MemoryRole.ACTIVATIONS),
        activation_peak=peak,
        activation_lower_bound=lower_bound,
        activation_bytes_apart=_bytes_apart(block, target),
        weight_bytes=sum(_allocated_bytes(op.result, target) for op in constants),
        input_bytes=_memory_bytes(module, MemoryRole.INPUT),
        output_bytes=_memory_bytes(module, MemoryRole.OUTPUT),
    )


def _allocated_bytes(value: SSAValue, target: NvdlaTarget) -> int:
    type_ = value.type
    if isinstance(type_, PackedType):
        return type_.size.data
    assert isinstance(type_, SurfaceType | FlowType), "dla-allocate places cubes"
    cube = cube_of(type_)
    return surfaces(target, precision_of(type_), cube.channels) * cube.positions * target.memory_atom_bytes


def _counts(function: FuncOp, key: str) -> dict[str, int]:
    nodes = function.attributes.get(key)
    if not isinstance(nodes, DictionaryAttr):
        return {}
    return {name: count.value.data for name, count in nodes.data.items() if isinstance(count, IntegerAttr)}


def _conv_splits(all_fused: list[FusedLayer]) -> dict[str, int]:
    """Return the number of layers of each node whose convolution is split."""
    counts = Counter(node_name(op) for fused in all_fused for op in fused.ops if isinstance(op, ConvOp))
    return {name: count for name, count in counts.items() if count > 1}


def _bounds(module: ModuleOp) -> tuple[int, int]:
    """Return the peak of activations in the order of the layers, and the lower bound over all orders."""
    for op in module.walk():
        if isinstance(op, MemoryOp) and op.peak is not None and op.lower_bound is not None:
            return op.peak.value.data, op.lower_bound.value.data
    return 0, 0


def _bytes_apart(block: Block, target: NvdlaTarget) -> int:
    made = [
        value
        for op in block.ops
        if not isinstance(op, KernelsOp | SliceOp | ReshapeOp)
        for value in op.results
    ]
    return sum(_allocated_bytes(value, target) for value in made if memory_of(value.type) == ACTIVATIONS)


def _memory_bytes(module: ModuleOp, role: MemoryRole) -> int:
    return sum(op.size.value.data for op in module.walk() if isinstance(op, MemoryOp) and op.role is role)
