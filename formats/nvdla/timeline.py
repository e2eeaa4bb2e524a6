"""
The timeline of a network: when its layers load, compute and end (docs/internals/nvdla-hardware.md §9.4).

A convolution multiplies when all its rows and the first kernel group are in the buffer; more weights arrive
meanwhile. The loads of a queued independent convolution run while the one before it computes, into what that
one leaves free of the same banks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from math import ceil
from typing import Final, NamedTuple

from xonnc.formats.nvdla.cycles import (
    OPERANDS_AHEAD,
    Demand,
    beat_bytes,
    dram_equivalent,
    memory_rate,
    on_chip_saving,
)
from xonnc.targets import NvdlaTarget

FIRST_STEP: Final = 68
"""Cycles from the last byte loaded to the first multiplication."""

SDP_AHEAD: Final = 54
"""Cycles from enabling the SDP, which then fetches operands, to the first load of its convolution."""

NEXT_STEP: Final = 65
"""Cycles from the last step of a layer to the first of the next, if that is loaded."""

LAST_BYTES: Final = 7
"""Cycles of a memory bound layer without convolution beyond its transfers and their latency."""

START_ACCESSES: Final = 105
"""Register accesses of the firmware from the end of a layer to the start of the one that waited for it."""

LAYER_ACCESSES: Final = 119
"""Register accesses of the firmware that program and start a convolution with its SDP pass."""

GROUPS: Final = 2
"""Register groups of an engine: one layer runs while the next is programmed."""


class Span(NamedTuple):
    """
    Cycles at which a layer is enabled, computes first, computes last, and ends.

    `prefetched` bytes were in the buffer before the layer starts. `background` are the bytes that move while
    it computes.
    """

    enabled: float
    start: float
    computed: float
    end: float
    prefetched: float = 0.0
    background: float = 0.0


class Mark(NamedTuple):
    """A point in a timeline: the number of layers, the layers of each engine, and their state."""

    layers: int
    queues: dict[str, list[int]]
    ended: float
    end: float
    quiet: float
    moved: float


class Timeline:
    """
    Layers in the order in which the engines run them.

    `register_cycles` are those of an access to a register by the firmware; 0 counts the hardware alone.
    """

    def __init__(self, target: NvdlaTarget, register_cycles: float = 0.0):
        self.spans: list[Span] = []
        self._rate = memory_rate(target)
        self._saving = on_chip_saving(target)
        self._latency = target.memory_latency_cycles
        self._beat = beat_bytes(target)
        self._firmware = START_ACCESSES * register_cycles
        self._programming = LAYER_ACCESSES * register_cycles
        self._demands: list[Demand] = []
        self._queues: dict[str, list[int]] = {}
        self._end = 0.0
        self._ended = 0.0
        # Memory serves layers that overlap in time one after the other: bytes since all was quiet.
        self._quiet = 0.0
        self._moved = 0.0

    @property
    def end(self) -> float:
        """Cycles from the first enable to the last result."""
        return self._end

    def add(self, demand: Demand, engines: Sequence[str], after: Collection[int] = ()) -> Span:
        """Add a layer that is enabled when the layers `after` have ended."""
        spans = self.spans
        ready = max([spans[index].end for index in after]) + self._firmware if after else self._ended
        if self._programming and spans:
            # One processor programs all engines.
            ready = max(ready, spans[-1].enabled + self._programming)
        queues = [self._queues.setdefault(engine, []) for engine in engines]
        for queue in queues:
            if queue:
                # Engines are programmed in the order of their queues.
                ready = max(ready, spans[queue[-1]].enabled)
            if len(queue) >= GROUPS:
                ready = max(ready, spans[queue[-GROUPS]].end)
        if ready >= self._end:
            self._quiet, self._moved = ready, 0.0
        self._moved += dram_equivalent(demand, self._saving)
        served = self._quiet + self._moved / self._rate
        span = (
            self._element_span(demand, engines, ready, served)
            if demand.conv is None
            else self._conv_span(demand, ready, served)
        )
        for queue in queues:
            queue.append(len(spans))
        spans.append(span)
        self._demands.append(demand)
        self._end = max(self._end, span.end)
        return span

    def earliest_end(self, compute: float, traffic: float) -> float:
        """
        Return a lower bound of the cycle in which further convolutions end, which multiply for `compute`
        cycles and move `traffic` bytes of DRAM: the core and the memory take up layers one after another.
        """
        queue = self._queues.get("CONV")
        computed = self.spans[queue[-1]].computed if queue else 0.0
        return max(computed + compute, self._quiet + (self._moved + traffic) / self._rate)

    def copy(self) -> Timeline:
        """Return a timeline with the same layers, to which others can be added."""
        result = copy(self)
        result.spans = self.spans.copy()
        result._demands = self._demands.copy()
        result._queues = {engine: queue.copy() for engine, queue in self._queues.items()}
        return result

    def mark(self) -> Mark:
        """Return the point to which `rewind` goes back."""
        return Mark(len(self.spans), self._queues, self._ended, self._end, self._quiet, self._moved)

    def rewind(self, mark: Mark) -> None:
        """Remove the layers and barriers added after `mark`."""
        self._queues = mark.queues
        for queue in self._queues.values():
            while queue and queue[-1] >= mark.layers:
                queue.pop()
        del self.spans[mark.layers :]
        del self._demands[mark.layers :]
        self._ended, self._end, self._quiet, self._moved = mark.ended, mark.end, mark.quiet, mark.moved

    def barrier(self) -> None:
        """Let everything end, as at the end of a task."""
        # The queues before are those of marks.
        self._queues = {}
        self._ended = self._end

    def _element_span(self, demand: Demand, engines: Sequence[str], ready: float, served: float) -> Span:
        """
        Return the span of an SDP, PDP or CDP layer, or of a task that only moves bytes.

        It does not end before `served`, when memory has served all layers so far.
        """
        before = (self.spans[self._queues[engine][-1]].end for engine in engines if self._queues[engine])
        start = max((ready, *before))
        if not demand.elements:
            end = start + dram_equivalent(demand, self._saving) / self._rate
            return Span(ready, start, end, max(end, served))
        latency = self._latency
        computed = start + latency + demand.elements + demand.depth
        traffic = dram_equivalent(demand, self._saving)
        moved = start + latency + traffic / self._rate + LAST_BYTES
        return Span(ready, start, computed, max(computed, moved, served), background=traffic)

    def _output_bytes(self, demand: Demand) -> float:
        """Return the bytes of DRAM that take as long as the results, and operands streamed for them."""
        saved = self._saving * (demand.on_chip_results + demand.on_chip_streamed)
        return demand.results + demand.streamed - saved

    def _data_cost(self, demand: Demand) -> float:
        """Return the bytes of DRAM that take as long as a byte of the convolution's data."""
        return 1 - self._saving * demand.on_chip_data / demand.data if demand.data else 1.0

    def _conv_span(self, demand: Demand, ready: float, served: float) -> Span:
        queue = self._queues["CONV"]
        before = queue[-1] if queue and self.spans[queue[-1]].computed > ready else None
        data, weights = (0.0, 0.0) if before is None else self._prefetched(demand, before, ready)
        loading = self._load(demand, data, weights)
        start = ready + loading + self._latency + FIRST_STEP
        if before is not None:
            start = self._queued_start(demand, before, data, weights, loading)
        cycles = demand.conv
        assert cycles is not None
        background = self._background(demand, data, weights)
        # Weights have to be there before the last group; the results of the last group come after it.
        share = 1 - cycles.last_group / cycles.compute
        outputs = self._output_bytes(demand)
        moved = background - outputs + outputs * share
        # A group's weights stay until it is computed; what of the next does not fit beside them comes late.
        groups = ceil(demand.weights / demand.first_weights) if demand.weights else 1
        excess = max(2 * demand.first_weights - demand.weight_bank_bytes, 0) if groups > 1 else 0
        stalled = cycles.compute + (groups - 1) * excess / self._rate
        busy = max(stalled, moved / self._rate + cycles.last_group, background / self._rate)
        computed = start + busy
        end = max(computed + cycles.drain, served)
        return Span(ready, start, computed, end, data + weights, background)

    def _load(self, demand: Demand, data_there: float, weights_there: float) -> float:
        """
        Return the cycles to load what the first multiplication needs.

        Requests for data and weights alternate while both are incomplete. Data alone is written to the buffer
        slower than a beat a cycle.
        """
        data = demand.data - data_there
        weights = demand.weights - weights_there
        group = max(demand.first_weights - weights_there, 0.0)
        first = data + min(data, weights, demand.weight_bank_bytes)
        if group > data:
            loaded = data + group
        else:
            loaded = max(first, group + min(data, group))
        alone = max(data - weights, 0.0) if weights < data else 0.0
        slowed = demand.row_cycles * alone / demand.data if demand.data else 0.0
        operands = min(demand.operands, OPERANDS_AHEAD * self._beat) / self._rate
        late = max(operands - SDP_AHEAD, 0.0)
        requested = loaded - (1 - self._data_cost(demand)) * data
        return max(requested / self._rate, loaded / self._beat + slowed) + late

    def _background(self, demand: Demand, data_there: float, weights_there: float) -> float:
        """Return the bytes that move while a convolution computes."""
        prefetched = min(demand.data - data_there, demand.weight_bank_bytes - weights_there)
        loaded = max(weights_there + max(prefetched, 0.0), demand.first_weights)
        late = max(demand.weights - loaded, 0.0)
        ahead = min(demand.operands, OPERANDS_AHEAD * self._beat)
        return late + demand.operands - ahead + self._output_bytes(demand)

    def _free_banks(self, demand: Demand, before: int) -> tuple[int, int]:
        """Return the bytes of data and weights that fit beside the layer `before`, none in other banks."""
        other = self._demands[before]
        banks = demand.data_bank_bytes, demand.weight_bank_bytes
        if banks != (other.data_bank_bytes, other.weight_bank_bytes):
            return 0, 0
        data = max(demand.data_bank_bytes - other.held_data, 0)
        weights = max(demand.weight_bank_bytes - other.held_weights, 0)
        return min(demand.data, data), min(demand.weights, weights)

    def _prefetched(self, demand: Demand, before: int, ready: float) -> tuple[float, float]:
        """Return the bytes of data and weights that arrive while the layer `before` computes."""
        span = self.spans[before]
        window = span.computed - max(ready, span.start)
        share = window / (span.computed - span.start)
        spare = max(window * self._rate - span.background * share, 0.0)
        data, weights = self._free_banks(demand, before)
        if data * self._data_cost(demand) + weights <= spare:
            return data, weights
        # Requests alternate: the smaller is complete first.
        if data <= weights:
            data = min(data, spare / 2)
            return data, spare - data
        weights = min(weights, spare / 2)
        return spare - weights, weights

    def _queued_start(
        self, demand: Demand, before: int, data: float, weights: float, loading: float
    ) -> float:
        """Return the first multiplication of a layer of which some bytes were loaded before its start."""
        end = self.spans[before].computed
        if data >= demand.data and weights >= demand.first_weights:
            return end + NEXT_STEP
        # The rest is requested when the previous layer releases its banks.
        is_full = (data, weights) == self._free_banks(demand, before)
        return end + loading + FIRST_STEP + (self._latency if is_full else 0)
