"""What the back end decided about one network, in numbers; estimates after spec/nvdla.md §8.3 and §8.4."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.dla.attributes import MemoryRole
from xonnc.dialects.dla.engines import CdpOp, ConvOp, PdpOp, PowerOp, SdpOp, SoftmaxOp
from xonnc.dialects.dla.storage import ConstantOp, MemoryOp
from xonnc.dialects.dla.types import FlowType, PackedType, SurfaceType, cube_of, shape_of
from xonnc.dialects.onnx.locations import node_name
from xonnc.formats.nvdla.geometry import ceil_div, kernel_group, surfaces
from xonnc.lowering.convert_onnx_to_dla import NODES
from xonnc.lowering.dla_layers import Chain, chains
from xonnc.lowering.networks import network
from xonnc.lowering.planning.feasibility import bytes_per_cycle
from xonnc.lowering.precision import precision_of
from xonnc.targets import NvdlaTarget

ENGINES: dict[type[Operation], str] = {
    ConvOp: "CONV",
    SdpOp: "SDP",
    PdpOp: "PDP",
    CdpOp: "CDP",
    SoftmaxOp: "EMU",
    PowerOp: "EMU",
}
STRIPE = 16
"""Output positions that share the weights in the MAC cells (spec/nvdla.md §8.3)."""


@dataclass(frozen=True)
class LayerReport:
    """
    One chain of hardware layers: cycles of each engine (`pooling`: PDP or CDP), bytes of memory traffic.
    """

    node: str
    engines: tuple[str, ...]
    macs: int
    mac_cycles: int
    sdp_cycles: int
    pooling_cycles: int
    traffic_bytes: int
    memory_cycles: int

    @property
    def cycles(self) -> int:
        """The slowest of what works at the same time."""
        return max(self.mac_cycles, self.sdp_cycles, self.pooling_cycles, self.memory_cycles)

    @property
    def bound(self) -> str:
        """What the layer waits for: `conv`, `sdp`, `pooling` or `memory`."""
        times = {
            "conv": self.mac_cycles,
            "sdp": self.sdp_cycles,
            "pooling": self.pooling_cycles,
            "memory": self.memory_cycles,
        }
        return max(times, key=lambda name: times[name])


@dataclass(frozen=True)
class CompileReport:
    """
    Everything in bytes, cycles of the core's clock, and milliseconds.

    `layers_by_engine` counts hardware layers, `nodes_by_engine` the simplified model's nodes by the engine
    that does them (`view`: there is nothing to do).
    """

    target: str
    layers_by_engine: dict[str, int]
    nodes_by_engine: dict[str, int]
    layers: tuple[LayerReport, ...]
    conv_splits: dict[str, int]
    activation_bytes: int
    activation_lower_bound: int
    weight_bytes: int
    input_bytes: int
    output_bytes: int
    macs: int
    cycles: int
    milliseconds: float

    @property
    def dram_bytes(self) -> int:
        """All memory objects with the network's data."""
        return self.activation_bytes + self.weight_bytes + self.input_bytes + self.output_bytes


def report_of(module: ModuleOp, target: NvdlaTarget) -> CompileReport:
    """The report of a module after `dla-allocate`."""
    function, block = network(module)
    all_chains = list(chains(block))
    layers = tuple(_layer(chain, target) for chain in all_chains)
    cycles = sum(layer.cycles for layer in layers)
    constants = [op for op in block.ops if isinstance(op, ConstantOp)]
    return CompileReport(
        target=target.name,
        layers_by_engine=dict(Counter(engine for layer in layers for engine in layer.engines)),
        nodes_by_engine=_nodes_by_engine(function),
        layers=layers,
        conv_splits=_conv_splits(all_chains),
        activation_bytes=_memory_bytes(module, MemoryRole.ACTIVATIONS),
        activation_lower_bound=_lower_bound(module),
        weight_bytes=sum(_place_bytes(op.result, target) for op in constants),
        input_bytes=_memory_bytes(module, MemoryRole.INPUT),
        output_bytes=_memory_bytes(module, MemoryRole.OUTPUT),
        macs=sum(layer.macs for layer in layers),
        cycles=cycles,
        milliseconds=cycles / (target.clock_mhz * 1000),
    )


def _layer(chain: Chain, target: NvdlaTarget) -> LayerReport:
    macs = mac_cycles = sdp_cycles = pooling_cycles = 0
    for op in chain.ops:
        if isinstance(op, ConvOp):
            macs, mac_cycles = _conv_work(op, target)
        if isinstance(op, SdpOp):
            sdp_cycles = _sdp_cycles(op, target)
        if isinstance(op, PdpOp):
            pooling_cycles = round(cube_of(op.source.type).elements / target.pdp_elements_per_cycle)
        if isinstance(op, CdpOp):
            pooling_cycles = round(cube_of(op.source.type).elements / target.cdp_elements_per_cycle)
    traffic = _traffic(chain, target)
    return LayerReport(
        node=node_name(chain.ops[-1]),
        engines=tuple(ENGINES[type(op)] for op in chain.ops),
        macs=macs,
        mac_cycles=mac_cycles,
        sdp_cycles=sdp_cycles,
        pooling_cycles=pooling_cycles,
        traffic_bytes=traffic,
        memory_cycles=round(traffic / bytes_per_cycle(target)),
    )


def _conv_work(op: ConvOp, target: NvdlaTarget) -> tuple[int, int]:
    """Multiplications, and cycles: a step is one channel block and tap for a stripe of positions (§8.3)."""
    result, (kernels, channels, height, width) = cube_of(op.accumulator.type), shape_of(op.weights.type)
    group = kernel_group(target, precision_of(op.source.type))
    steps = ceil_div(channels, target.atomic_c) * height * width
    stripes = max(result.positions // STRIPE, 1)
    full, rest = divmod(kernels, group)
    cycles = full * max(result.positions, stripes * group)
    if rest:
        cycles += max(result.positions, stripes * rest)
    return kernels * channels * height * width * result.positions, steps * cycles


def _sdp_cycles(op: SdpOp, target: NvdlaTarget) -> int:
    rate = target.sdp_elements_per_cycle
    if op.y_stage is not None:
        rate = min(rate, target.sdp_y_elements_per_cycle)
    return round(cube_of(op.result.type).elements / rate)


def _traffic(chain: Chain, target: NvdlaTarget) -> int:
    """Bytes read and written; weights that stay from the piece before are not read again."""
    kept = {
        op.weights
        for op in chain.ops
        if isinstance(op, ConvOp) and op.banks is not None and op.banks.data.weight_reuse
    }
    return sum(_place_bytes(value, target) for value in (*chain.inputs, chain.result) if value not in kept)


def _place_bytes(value: SSAValue, target: NvdlaTarget) -> int:
    type_ = value.type
    if isinstance(type_, PackedType):
        return type_.size.data
    assert isinstance(type_, SurfaceType | FlowType), "dla-allocate places cubes"
    cube = cube_of(type_)
    return surfaces(target, precision_of(type_), cube.channels) * cube.positions * target.memory_atom_bytes


def _nodes_by_engine(function: FuncOp) -> dict[str, int]:
    nodes = function.attributes.get(NODES)
    if not isinstance(nodes, DictionaryAttr):
        return {}
    return {name: count.value.data for name, count in nodes.data.items() if isinstance(count, IntegerAttr)}


def _conv_splits(all_chains: list[Chain]) -> dict[str, int]:
    """Convolutions that run in several pieces, by node, with their number."""
    counts = Counter(node_name(op) for chain in all_chains for op in chain.ops if isinstance(op, ConvOp))
    return {name: count for name, count in counts.items() if count > 1}


def _lower_bound(module: ModuleOp) -> int:
    memories = [op for op in module.walk() if isinstance(op, MemoryOp)]
    return sum(op.lower_bound.value.data for op in memories if op.lower_bound is not None)


def _memory_bytes(module: ModuleOp, role: MemoryRole) -> int:
    return sum(op.size.value.data for op in module.walk() if isinstance(op, MemoryOp) and op.role is role)
