"""The data of the report page, independent of the target: it is written into the page as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class GraphNode:
    """A node of the imported model; `inputs` are the indices of the nodes that produce its operands."""

    name: str
    op: str
    inputs: tuple[int, ...]
    engine: str
    reason: str = ""
    layers: tuple[int, ...] = ()
    """Hardware layers, by their index in the timeline."""


@dataclass(frozen=True)
class Buffer:
    """A buffer of a memory: live from step `first` to step `last`, both included."""

    name: str
    first: int
    last: int
    offset: int
    size: int


@dataclass(frozen=True)
class Memory:
    """A memory with its buffers; `lower_bound` holds over all orders of the steps."""

    name: str
    size: int
    peak: int
    lower_bound: int
    peak_step: int
    steps: tuple[str, ...]
    buffers: tuple[Buffer, ...]


@dataclass(frozen=True)
class Task:
    """A hardware layer or a kernel in time; `computes` is when it multiplies first."""

    name: str
    engine: str
    start: float
    computes: float
    end: float
    added: float
    """Time that it adds to the total."""
    bound: str = ""
    macs: int = 0
    moved_bytes: int = 0
    node: str = ""


@dataclass(frozen=True)
class Timeline:
    """Tasks in the order in which they run; `source` says whether times are measured or estimated."""

    unit: str
    source: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Roofline:
    """The roofs: operations and bytes per unit of the timeline; 0 if unknown."""

    operations: float
    bytes: float
    source: str


@dataclass(frozen=True)
class QuantizedValue:
    """The error of a quantized value on the samples."""

    name: str
    op: str
    element: str
    scale: float
    zero_point: int
    saturated: float
    snr: float | None
    cosine: float
    range: tuple[float, float]
    """The range of the integers; histograms count values in equal bins of it."""
    floats: tuple[int, ...]
    """The histogram of the float model."""
    quantized: tuple[int, ...]
    """The histogram of the quantized model."""


@dataclass(frozen=True)
class RuleCount:
    """The number of applications of a pass's rule, and its nodes."""

    pass_name: str
    rule: str
    count: int
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Operators:
    """Number of nodes of an operator in the model before and after simplification, and by engine."""

    op: str
    before: int
    after: int
    engines: dict[str, int]


@dataclass(frozen=True)
class Document:
    """All of the report page."""

    title: str
    target: str
    kind: str
    """`nvdla`, `native` or `loadable`."""
    facts: tuple[tuple[str, str], ...]
    nodes: tuple[GraphNode, ...] = ()
    memories: tuple[Memory, ...] = ()
    timeline: Timeline | None = None
    roofline: Roofline | None = None
    accuracy: tuple[QuantizedValue, ...] = ()
    rewrites: tuple[RuleCount, ...] = ()
    diff: tuple[str, ...] = ()
    """Lines of the difference between the imported and the simplified model."""
    operators: tuple[Operators, ...] = ()
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """For a view without data, why it has none."""
