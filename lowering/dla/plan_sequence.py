"""A sequence of plans of convolutions, with the timeline that they make."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from xdsl.ir import SSAValue

from xonnc.dialects.dla.engines import PdpOp
from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import cube_of
from xonnc.formats.nvdla.timeline import Mark, Timeline
from xonnc.lowering.dla_planning.convolution_tiling import ConvolutionPlan, RowTile


class RowsDone(NamedTuple):
    """Rows `begin` to `end` of a cube are written by layer `step` of the timeline."""

    begin: int
    end: int
    step: int


class SequenceMark(NamedTuple):
    """A point in a sequence: its timeline, and the numbers of plans, layers and poolings so far."""

    timeline: Mark
    plans: int
    layers: int
    pools: int
    traffic: int
    weights: SSAValue | None


@dataclass
class PlanSequence:
    """Plans of the convolutions so far, and the timeline that they make."""

    timeline: Timeline
    plans: list[ConvolutionPlan] = field(default_factory=list[ConvolutionPlan])
    done: dict[SSAValue, tuple[RowsDone, ...]] = field(default_factory=dict[SSAValue, tuple[RowsDone, ...]])
    traffic: int = 0
    pools: dict[PdpOp, tuple[RowTile, ...]] = field(default_factory=dict[PdpOp, "tuple[RowTile, ...]"])
    """Tiles of poolings that run beside the convolutions before them."""
    weights: SSAValue | None = None
    """Weights of the last convolution of the task, if there is one."""

    def copy(self) -> PlanSequence:
        """Return a sequence that can go on by itself."""
        return replace(
            self,
            timeline=self.timeline.copy(),
            plans=self.plans.copy(),
            done=self.done.copy(),
            pools=self.pools.copy(),
        )

    def mark(self) -> SequenceMark:
        """Return the point to which `rewind` goes back."""
        sizes = len(self.plans), len(self.done), len(self.pools)
        return SequenceMark(self.timeline.mark(), *sizes, self.traffic, self.weights)

    def rewind(self, mark: SequenceMark) -> None:
        """Remove the layers added after `mark`."""
        self.timeline.rewind(mark.timeline)
        del self.plans[mark.plans :]
        for entries, count in ((self.done, mark.layers), (self.pools, mark.pools)):
            while len(entries) > count:
                entries.popitem()
        self.traffic, self.weights = mark.traffic, mark.weights

    @property
    def splits(self) -> tuple[tuple[int, int], ...]:
        """The bank split of the last convolution."""
        return tuple((plan.data_banks, plan.weight_banks) for plan in self.plans[-1:])

    def writers(self, rows: Iterable[RowRange]) -> Iterator[int]:
        """Yield the layers that write any of `rows`."""
        for value, begin, end in rows:
            for each in self.done.get(value, ()):
                if each.begin < end and begin < each.end:
                    yield each.step


class RowRange(NamedTuple):
    """Rows `begin` to `end` of a cube."""

    value: SSAValue
    begin: int
    end: int


def source_rows(value: SSAValue, begin: int, end: int) -> Iterator[RowRange]:
    """Yield the rows of results and inputs that rows `begin` to `end` of `value` are views of."""
    owner = value.owner
    if isinstance(owner, SliceOp):
        first = owner.offsets.get_values()[1]
        yield from source_rows(owner.source, begin + first, end + first)
    elif isinstance(owner, ReshapeOp):
        # Positions keep their order.
        source, width = cube_of(owner.source.type), cube_of(owner.result.type).width
        yield from source_rows(owner.source, begin * width // source.width, -(-end * width // source.width))
    elif isinstance(owner, ConcatOp) and owner.is_interleaved is not None:
        count = len(owner.sources)
        for source in owner.sources:
            yield from source_rows(source, begin // count, -(-end // count))
    elif isinstance(owner, ConcatOp):
        for source, first in zip(owner.sources, _first_rows(owner), strict=True):
            height = cube_of(source.type).height
            yield from source_rows(source, max(begin - first, 0), min(end - first, height))
    else:
        yield RowRange(value, begin, end)


class Views(NamedTuple):
    """How `source_rows` finds the rows of values, and the values that it finds them of, in order."""

    structure: tuple[Hashable, ...]
    roots: tuple[SSAValue, ...]


def views_of(values: Iterable[SSAValue]) -> Views:
    """Return what the rows of values are views of."""
    structure, roots = list[Hashable](), list[SSAValue]()
    for value in values:
        owner = value.owner
        if isinstance(owner, SliceOp):
            own, sources = owner.offsets.get_values()[1], (owner.source,)
        elif isinstance(owner, ReshapeOp):
            own, sources = (
                (cube_of(owner.source.type).width, cube_of(owner.result.type).width),
                (owner.source,),
            )
        elif isinstance(owner, ConcatOp):
            heights = tuple(cube_of(source.type).height for source in owner.sources)
            own = owner.is_interleaved is not None, *_first_rows(owner), *heights
            sources = tuple(owner.sources)
        else:
            own, sources = None, ()
            roots.append(value)
        inner = views_of(sources)
        structure.append((own, inner.structure))
        roots += inner.roots
    return Views(tuple(structure), tuple(roots))


def weights_stay(before: ConvolutionPlan, after: ConvolutionPlan) -> bool:
    """Whether weights that two convolutions in a row share stay in the buffer between them."""
    banks = (before.data_banks, before.weight_banks) == (after.data_banks, after.weight_banks)
    return banks and before.weights_resident and after.weights_resident


def _first_rows(op: ConcatOp) -> Sequence[int]:
    """Return where the rows of each source begin in the result."""
    if op.axis.value.data != 2:
        return [0] * len(op.sources)
    return list(op.begins)[: len(op.sources)]
