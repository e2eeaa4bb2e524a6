"""
Placement of a network: the DLA runs what it supports, the CPU the rest, with few tensors transferred.

The back end decides what is supported: partitions are converted to the `dla` dialect, refused nodes move to
the CPU with the reason, and the rest is partitioned again until no partition for the DLA is refused. Then
the partitions are compiled, each from its converted module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool
from xonnc.dialects.onnx.elements.roots import constants_of
from xonnc.dialects.onnx.locations import describe, node_name
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp
from xonnc.dialects.onnx.ops.nn import ConvOp, ConvTransposeOp, LRNOp
from xonnc.dialects.onnx.ops.quantization import QuantizeLinearOp
from xonnc.dialects.onnx.ops.tensor import CastOp
from xonnc.dialects.onnx.types import NONE, element_type, static_shape
from xonnc.errors import PluginFunctionError, RefusalError, XonncError
from xonnc.lowering.dla_to_loadable.stages import CompiledLoadable, StageCallback, compile_converted
from xonnc.lowering.onnx_to_dla.builders.dla_builder import FLOATS
from xonnc.lowering.onnx_to_dla.builders.node_precision import runs_in_fp16
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import INSERTED, is_quantized
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import (
    LOWERINGS_BY_PRECISION,
    AtBoundary,
    convert,
    refusal_of,
    rule_of,
)
from xonnc.lowering.onnx_to_dla.operators.selection import SELECTIONS
from xonnc.lowering.onnx_to_dla.quantization.keep_float import REASON, stays_float
from xonnc.lowering.placement.assignment import nodes_on_dla
from xonnc.lowering.placement.dataflow_graph import DataflowGraph, graph_of
from xonnc.lowering.placement.fp16_overflow import overflows
from xonnc.lowering.placement.node_costs import (
    cpu_milliseconds,
    dla_milliseconds,
    is_faster_on_cpu,
    transfer_milliseconds,
    transfers_saved,
)
from xonnc.lowering.placement.outline_partition import OutlinedPartition, Partition, outline, partitions_of
from xonnc.lowering.placement.partitions import partition_nodes
from xonnc.targets import NvdlaTarget, load_target

WORTH_A_CROSSING = frozenset(("CONV", "PDP", "CDP"))
"""Engines whose work is worth a transfer to the DLA and back; other nodes follow their neighbors."""


MULTIPLYING = (ConvOp, ConvTransposeOp, GemmOp, MatMulOp)
"""
Operators of the convolution engine. In INT8 the pass begins where their sums are rounded, often an addition
and an activation later, and that operator has the engine.
"""


def _is_cheap(op: Operation, engine: str) -> bool:
    """
    Return whether an operator follows its neighbors: data movement, and elementwise functions whatever the
    engine. The CDP computes those by its lookup table; what it normalizes is worth a transfer.
    """
    if isinstance(op, MULTIPLYING):
        return False
    if engine not in WORTH_A_CROSSING or type(op) in SELECTIONS:
        return True
    return engine == "CDP" and not isinstance(op, LRNOp)


EXACT_ROUNDS = 24
"""After this many rounds a partition with a refused node moves to the CPU as a whole."""

CLEAR_GAIN = 0.5
"""
Milliseconds that a partition must gain to move to the CPU. What the CPU takes is a rough estimate, and users
expect convolutions on the DLA.
"""

NO_SUCH_OPERATOR = "the DLA has no such operator"

FOLLOWS = "the DLA takes it, but it is cheap and its neighbours run on the CPU"


@dataclass(frozen=True)
class CompiledPartition:
    """A partition with its module, and its loadable if it is for the DLA."""

    partition: Partition
    outlined: OutlinedPartition
    compiled: CompiledLoadable | None


@dataclass(frozen=True)
class Placement:
    """The partitions of a network in the order in which they run."""

    graph: DataflowGraph
    names: Mapping[SSAValue, str]
    partitions: tuple[CompiledPartition, ...]
    refused: Mapping[int, str]
    """The reason why the DLA cannot run a node, in one line with its name."""
    at_boundaries: Collection[int]
    """
    Refused nodes that the DLA could run if a value did not enter from, or leave to, a partition on the CPU.
    """

    @property
    def root_causes(self) -> tuple[str, ...]:
        """The refusals that do not follow from others, each once."""
        return _root_causes(self.refused, self.at_boundaries)

    @property
    def on_cpu(self) -> dict[int, str]:
        """The nodes on the CPU, and the reason."""
        nodes = [
            node
            for placed in self.partitions
            if not placed.partition.is_dla
            for node in placed.partition.nodes
        ]
        return {
            node: rule_of(self.graph.nodes[node], self.refused[node]) if node in self.refused else FOLLOWS
            for node in sorted(nodes)
        }

    @property
    def crossings(self) -> int:
        """The number of tensors that enter or leave partitions on the DLA."""
        return sum(
            len(p.partition.inputs) + len(p.partition.outputs) for p in self.partitions if p.partition.is_dla
        )


def place_nodes(
    module: ModuleOp,
    target: str,
    ctx: Context,
    names: Mapping[SSAValue, str],
    on_stage: StageCallback | None = None,
) -> Placement:
    """
    Place the network in `module`, which is not modified; `names` are the names of its values.

    `module` should be simplified. `on_stage` sees the stages of the back end as long as the whole network is
    for the DLA. Raises `XonncError` for an unknown target or an unsupported module.
    """
    return _Placer(module, target, ctx, names).run(on_stage)


def refusals_of(
    module: ModuleOp,
    target: str,
    ctx: Context,
    known: RefusalError | None = None,
    converted: Sequence[Operation] = (),
) -> tuple[str, ...]:
    """
    Return why nodes of the network in `module`, which is not modified, do not run on the DLA, each line once.

    Nodes are converted, as far as the target takes them, but not compiled. `known` are the refusals of a copy
    of the network, `converted` the nodes of that copy.
    """
    graph = graph_of(module)
    values = [*graph.function.body.block.args, *(result for op in graph.nodes for result in op.results)]
    values += [result for op in graph.constants for result in op.results]
    placer = _Placer(module, target, ctx, {value: f"value_{index}" for index, value in enumerate(values)})
    if known is not None:
        placer.refuse(known, converted)
    placer.decide()
    return placer.root_causes


def planned_partitions(
    module: ModuleOp, target: str, ctx: Context, names: Mapping[SSAValue, str]
) -> tuple[DataflowGraph, Sequence[Partition]]:
    """
    Return the partitions of the network in `module`, which is not modified, with its graph.

    Nodes are converted but not compiled, which may still refuse one for the DLA.
    """
    placer = _Placer(module, target, ctx, names)
    return placer.graph, placer.decide()


def _root_causes(refused: Mapping[int, str], at_boundaries: Collection[int]) -> tuple[str, ...]:
    lines = (line for node, line in sorted(refused.items()) if node not in at_boundaries)
    return tuple(dict.fromkeys(lines))


@dataclass(frozen=True)
class _ConvertedPartition:
    """A partition with its module, and the engine of each operator, which are converted, if for the DLA."""

    outlined: OutlinedPartition
    engines: Mapping[Operation, str] | None


class _Placer:
    def __init__(self, module: ModuleOp, target: str, ctx: Context, names: Mapping[SSAValue, str]):
        self._module = module
        self._target = target
        self._ctx = ctx
        self._names = names
        self._graph = graph_of(module)
        self._hardware = load_target(target)
        beyond = {} if is_quantized(module) else overflows(self._graph.nodes)
        self._refused = {
            node: refusal_of(op, reason)
            for node, op in enumerate(self._graph.nodes)
            if (reason := impossible(op, self._hardware) or beyond.get(op)) is not None
        }
        self._in_fp16 = {node for node, op in enumerate(self._graph.nodes) if runs_in_fp16(op)}
        """Nodes of a quantized network that are not computed in its integers."""
        self._at_boundaries: set[int] = set()
        self._engines: dict[int, str] = {}
        self._converted: dict[Partition, _ConvertedPartition] = {}
        self._compiled: dict[Partition, CompiledLoadable] = {}
        self._rounds = 0
        self._network_constants = frozenset(constants_of([module]))
        self._constants: dict[Partition, frozenset[DisposableElementsAttr]] = {}
        """The constants of converted partitions, which are not freed while others are compiled."""

    @property
    def graph(self) -> DataflowGraph:
        """The network."""
        return self._graph

    def run(self, on_stage: StageCallback | None) -> Placement:
        """Decide and compile until the later stages refuse no partition for the DLA."""
        while True:
            partitions = self.decide()
            is_whole = len(partitions) == 1 and not self._refused
            known = len(self._refused)
            for partition in partitions:
                if partition.is_dla and partition not in self._compiled:
                    self._compile(partition, on_stage if is_whole else None)
                    self._refused = self._slow_in_fp16(partition) | self._refused
            self._refused = self._slow_partitions(partitions) | self._refused
            if len(self._refused) == known:
                placed = tuple(
                    CompiledPartition(each, self._converted[each].outlined, self._compiled.get(each))
                    for each in partitions
                )
                return Placement(self._graph, self._names, placed, self._refused, self._at_boundaries)

    def refuse(self, error: RefusalError, nodes: Sequence[Operation]) -> None:
        """Refuse what a target refuses of a copy of the network, which has these nodes."""
        arguments = self._graph.function.body.block.args
        readers = {
            argument: [
                node for node, op in enumerate(self._graph.nodes) if argument in self._graph.needed(op)
            ]
            for argument in arguments
        }
        block = nodes[0].parent_block() if nodes else None
        copied_arguments = () if block is None else block.args
        copies: dict[SSAValue, list[int]] = {
            copy: readers[argument] for copy, argument in zip(copied_arguments, arguments, strict=False)
        }
        copied = {op: node for node, op in enumerate(nodes)}
        outlined = OutlinedPartition(self._module, copied, copies)
        partition = Partition(True, tuple(range(len(nodes))), tuple(arguments), tuple(self._graph.results))
        self._at_boundaries |= self._at_boundary_only(error, partition, outlined)
        self._refused = _blamed(error, outlined) | self._refused

    def decide(self) -> list[Partition]:
        """Partition and convert until no partition for the DLA is refused; return the partitions."""
        while True:
            assert self._rounds < EXACT_ROUNDS + 2 * len(self._graph.nodes), "each round decides on a node"
            partitions = self._parts()
            is_whole = len(partitions) == 1 and not self._refused
            known = len(self._engines) + len(self._refused)
            for partition in partitions:
                if partition not in self._converted:
                    self._convert(partition)
            self._rounds += 1
            is_whole = is_whole and partitions[0] in self._converted
            if is_whole or len(self._engines) + len(self._refused) == known:
                return partitions

    @property
    def root_causes(self) -> tuple[str, ...]:
        """The refusals that do not follow from others, each once."""
        return _root_causes(self._refused, self._at_boundaries)

    def _parts(self) -> list[Partition]:
        free = {
            node
            for node, engine in self._engines.items()
            if _is_cheap(self._graph.nodes[node], engine) and node not in self._refused
        }
        sure = set(range(len(self._graph.nodes))) - free - self._refused.keys()
        # A node in FP16 gains nothing but time on the DLA; what is quantized was meant for it.
        worth = {node: transfers_saved(self._graph.nodes[node]) for node in self._in_fp16}
        on_dla = nodes_on_dla(self._graph.flow, sure - self._in_fp16, self._refused.keys(), worth)
        parts, refused = partition_nodes(self._graph.flow, on_dla), self._refused.keys()
        partitions = partitions_of(self._graph, parts, on_dla, refused=refused)
        constants = tuple(dict.fromkeys(v for v in self._graph.results if v.owner in self._graph.constants))
        return [*partitions, Partition(False, (), (), constants)] if constants else partitions

    def _convert(self, partition: Partition) -> None:
        """Convert a partition, or find its refused nodes."""
        outlined = outline(partition, self._graph, self._names, inserts_pairs=partition.is_dla)
        if not partition.is_dla:
            self._converted[partition] = _ConvertedPartition(outlined, None)
            return
        try:
            engines = convert(outlined.module, self._hardware, DisposablePool.of(self._ctx))
        except PluginFunctionError:
            raise
        except RefusalError as error:
            self._at_boundaries |= self._at_boundary_only(error, partition, outlined)
            self._refuse(_blamed(error, outlined), partition)
        except XonncError as error:
            self._refuse(_blamed_late(error, outlined), partition)
        else:
            self._converted[partition] = _ConvertedPartition(outlined, engines)
            self._constants[partition] = frozenset(constants_of([outlined.module]))
            for op, node in outlined.nodes.items():
                self._engines.setdefault(node, engines.get(op, "view"))

    def _compile(self, partition: Partition, on_stage: StageCallback | None) -> None:
        """Compile a converted partition, or find the nodes that a later stage refuses."""
        converted = self._converted[partition]
        assert converted.engines is not None, "compiled for the DLA"
        module = converted.outlined.module
        del self._constants[partition]
        live = self._network_constants.union(*self._constants.values())
        try:
            self._compiled[partition] = compile_converted(
                module, self._target, self._ctx, converted.engines, on_stage, live
            )
        except PluginFunctionError:
            raise
        except XonncError as error:
            self._refuse(_blamed_late(error, converted.outlined), partition)
        else:
            self._constants[partition] = frozenset(constants_of([module]))

    def _slow_in_fp16(self, partition: Partition) -> dict[int, str]:
        """
        Return the nodes in FP16 that take longer on the DLA than on the CPU, transfers included.

        Such are products of rows by a matrix: each row takes a layer.
        """
        found: dict[int, str] = {}
        compiled = self._compiled.get(partition)
        if compiled is None or not self._in_fp16.intersection(partition.nodes):
            return found
        on_dla = dla_milliseconds([compiled], self._hardware)
        for node in self._in_fp16.intersection(partition.nodes):
            op = self._graph.nodes[node]
            if is_faster_on_cpu(op, milliseconds := on_dla.get(node_name(op), 0.0)):
                reason = f"in fp16 it takes {milliseconds:.2g} ms, more than the CPU needs"
                found[node] = refusal_of(op, reason)
        return found

    def _slow_partitions(self, partitions: Sequence[Partition]) -> dict[int, str]:
        """
        Return the nodes of partitions that take clearly longer on the DLA than on the CPU, with transfers.

        One stays, whatever it takes: a loadable is what the user asked for.
        """
        times: dict[Partition, tuple[float, float]] = {}
        for each in partitions:
            if (compiled := self._compiled.get(each)) is not None:
                moved = sum(map(transfer_milliseconds, (*each.inputs, *each.outputs)))
                on_cpu = sum(map(cpu_milliseconds, self._ops_of(each)))
                times[each] = (compiled.report.milliseconds + moved, on_cpu)
        slow = sorted(times, key=lambda each: times[each][0] - times[each][1])[1:]
        # A DequantizeLinear may be a node of several partitions; what others on the DLA read stays there.
        uses = Counter(node for each in times for node in each.nodes)
        found: dict[int, str] = {}
        for each in slow:
            on_dla, on_cpu = times[each]
            if on_cpu + CLEAR_GAIN < on_dla:
                reason = f"its part takes {on_dla:.2g} ms with transfers, the CPU {on_cpu:.2g} ms"
                own = [node for node in each.nodes if uses[node] == 1]
                found |= {node: refusal_of(self._graph.nodes[node], reason) for node in own}
        return found

    def _ops_of(self, partition: Partition) -> list[Operation]:
        return [self._graph.nodes[node] for node in partition.nodes]

    def _refuse(self, blamed: Mapping[int, str], partition: Partition) -> None:
        """Refuse nodes of a partition, after many rounds all of them."""
        if self._rounds >= EXACT_ROUNDS:
            reason = next(iter(blamed.values()))
            blamed = dict.fromkeys(partition.nodes, reason) | dict(blamed)
        self._refused |= blamed

    def _at_boundary_only(
        self, error: RefusalError, partition: Partition, outlined: OutlinedPartition
    ) -> set[int]:
        """Return the nodes refused only because of values that are no network inputs or outputs."""
        ends = {*self._graph.function.body.block.args, *self._graph.results}
        interior: set[int] = set()
        elsewhere: set[int] = set()
        for about in error.subjects:
            value = _boundary(about, outlined)
            original = None if value is None else self._original(value, partition, outlined)
            is_boundary = original is not None and original not in ends
            (interior if is_boundary else elsewhere).update(outlined.concerned(_concerned(about)))
        return interior - elsewhere

    def _original(
        self, value: SSAValue, partition: Partition, outlined: OutlinedPartition
    ) -> SSAValue | None:
        """
        Return the network's value of an input or result of a partition's module; `None` for a constant, which
        only the network itself returns.
        """
        if isinstance(value, BlockArgument):
            return partition.inputs[value.index]
        assert isinstance(value, OpResult), "a value is an argument or a result"
        node = outlined.nodes.get(value.op)
        return None if node is None else self._graph.nodes[node].results[value.index]


def impossible(op: Operation, target: NvdlaTarget) -> str | None:
    """Return why no partition for `target` can contain `op`, `None` if one may."""
    in_fp16 = runs_in_fp16(op)
    tables = [
        table
        for precision, table in LOWERINGS_BY_PRECISION.items()
        if precision in target.precisions and (precision == "fp16" or not in_fp16)
    ]
    if stays_float(op) and not in_fp16:
        return REASON
    if isinstance(op, CastOp) and not {element_type(op.input.type), element_type(op.output.type)} <= {
        *FLOATS
    }:
        return NO_SUCH_OPERATOR
    if not any(type(op) in table for table in tables):
        return NO_SUCH_OPERATOR
    for value in (*op.operands, *op.results):
        if value.type != NONE and static_shape(value.type) is None:
            return "a dynamic shape; fix the sizes of the inputs with --input-shape"
    return None


def _blamed(error: RefusalError, outlined: OutlinedPartition) -> dict[int, str]:
    """
    Return the nodes that refusals are about; all nodes if a refusal has no subject.

    A pair that the compiler inserted ends the pass of the operator before it, which is refused with it.
    """
    result: dict[int, str] = {}
    pairs = list(zip(error.reasons, error.subjects, strict=True))
    for reason, about in sorted(pairs, key=lambda pair: pair[1] is None):
        subject = _concerned(about)
        nodes = [*outlined.concerned(subject)]
        if isinstance(subject, QuantizeLinearOp) and INSERTED in subject.attributes:
            nodes += outlined.concerned(subject.x.owner)
        for node in nodes or outlined.nodes.values():
            result.setdefault(node, reason)
    return result


def _boundary(about: object, outlined: OutlinedPartition) -> SSAValue | None:
    """Return the input or output of its module that a refusal is about."""
    if isinstance(about, AtBoundary):
        return about.value
    return next((value for value in outlined.readers if value is about), None)


def _concerned(about: object) -> object:
    """Return the operation or input that a refusal is about."""
    return about.op if isinstance(about, AtBoundary) else about


def _blamed_late(error: XonncError, outlined: OutlinedPartition) -> dict[int, str]:
    """Return the nodes that an error of a later stage names; else all."""
    start = str(error).split(":", maxsplit=1)[0]
    name = node_name(error.about) if isinstance(error.about, Operation) else start
    named = [node for op, node in outlined.nodes.items() if name and describe(op) == name]
    return dict.fromkeys(named or outlined.nodes.values(), str(error))
