"""
NVDLA configurations as data: one TOML file for each target in this folder, or a user's own file by path.

The verifier, the lowering, error messages and the generated documentation all read these descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from xonnc.argument_types import checks_arguments
from xonnc.errors import UnknownNameError, XonncError, suggest
from xonnc.targets.toml_tables import KINDS, PropertyType, is_integer, is_names, read_toml, values_of

FOLDER = Path(__file__).parent

DEFAULT_TARGET = "nv_full"
"""The target used when none is named."""


ByteCount: TypeAlias = int
"""A number of bytes, which may be 0."""


@dataclass(frozen=True, kw_only=True)
class NvdlaTarget:
    """
    One configuration of NVDLA (docs/internals/nvdla-hardware.md §3.1, §8.4).

    Sizes are in elements unless the name says bytes.
    """

    name: str
    description: str
    precisions: tuple[str, ...]
    """Element types of the datapath: `int8`, `int16`, `fp16`."""
    atomic_c: int
    """Input channels that the MAC array multiplies in a cycle (ATOMIC-C)."""
    atomic_k: int
    """INT8 kernels that the MAC array computes in parallel (ATOMIC-K); half as many with 16 bits."""
    memory_atom_bytes: int
    """Bytes of one atom, the unit of feature cubes in memory: contiguous channels of one pixel."""
    cbuf_banks: int
    cbuf_entries: int
    """Entries of one bank of the convolution buffer."""
    cbuf_entry_bytes: int
    batch: int = 1
    """The largest batch of one convolution."""
    sdp_y: bool = False
    """Whether the SDP has the Y stage and its lookup table."""
    rubik: bool = False
    bdma: bool = False
    winograd: bool = False
    weight_compression: bool = False
    long_stripes: bool = True
    """
    Whether the convolution sequencer's stripes grow beyond 16 positions while many remain.

    The configurable design does so; the first design always has stripes of 16 (§8.3).
    """
    queues_bank_splits: bool = True
    """
    Whether a convolution may be queued after one that splits the convolution buffer differently.

    The first design may hang if it is (§9.2).
    """
    clock_mhz: float = 1000.0
    dram_gb_per_s: float = 10.0
    """DRAM bandwidth, reads and writes together."""
    memory_bits: int = 64
    """The width of the interface to memory."""
    memory_latency_cycles: int = 64
    """Cycles from a read request to its data, as the design expects."""
    reads_in_flight: int = 256
    """
    Beats requested of memory and not yet received, at most; 256 in nv_small.

    Designs for a longer latency are taken to have as many as it needs (not measured).
    """
    cvsram_bytes: ByteCount = 0
    """The size of the on-chip memory behind the second interface (CV-SRAM), 0 if there is none."""
    cvsram_gb_per_s: float = 25.0
    """Bandwidth of the on-chip memory, reads and writes together."""
    cvsram_bits: int = 512
    """The width of the interface to the on-chip memory."""
    has_measured_cycles: bool = False
    """Whether the cycle model was held against the RTL of this configuration (§9.4)."""
    sdp_elements_per_cycle: float = 1.0
    sdp_y_elements_per_cycle: float = 1.0
    pdp_elements_per_cycle: float = 1.0
    cdp_elements_per_cycle: float = 1.0

    @property
    def cbuf_bytes(self) -> int:
        """The size of the convolution buffer."""
        return self.cbuf_banks * self.cbuf_entries * self.cbuf_entry_bytes

    @property
    def bytes_per_cycle(self) -> float:
        """Bytes that memory delivers in a cycle: its bandwidth, limited by the width of the interface."""
        return min(self.dram_gb_per_s * 1000 / self.clock_mhz, self.memory_bits / 8)

    @property
    def cvsram_bytes_per_cycle(self) -> float:
        """Bytes that the on-chip memory delivers in a cycle."""
        return min(self.cvsram_gb_per_s * 1000 / self.clock_mhz, self.cvsram_bits / 8)

    @property
    def has_16_bits(self) -> bool:
        """Whether the data path has 16 bits; each 16-bit lane then computes two INT8 elements."""
        return self.precisions != ("int8",)


def target_names() -> list[str]:
    """The names of the targets that come with the compiler."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@checks_arguments
def load_target(name: str) -> NvdlaTarget:
    """
    Load the description of an NVDLA configuration.

    Parameters:
        name: the name of a target such as `nv_full`, or the path of a TOML file.

    Returns: the target.

    Raises: `UnknownNameError` for an unknown name, `XonncError` for an invalid or missing file.

    Example:
        >>> xonnc.load_target("nv_small").precisions
        ('int8',)
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise XonncError(f"{name}: no such target file")
        return _target(path, read_toml(path))
    return _bundled(name)


@cache
def _bundled(name: str) -> NvdlaTarget:
    """Return a target that comes with the compiler."""
    names = target_names()
    if name not in names:
        raise UnknownNameError(
            f"no target '{name}'{suggest(name, names) or '.'} There are {', '.join(names)}; "
            "a .toml file of your own serves as well"
        )
    path = FOLDER / f"{name}.toml"
    return _target(path, read_toml(path))


def derive_target(base: str, changes: Mapping[str, Any], name: str) -> NvdlaTarget:
    """
    Return a target with some properties changed.

    Parameters:
        base: the name of a target, or the path of a TOML file.
        changes: values by property.
        name: the name of the result.

    Returns: the target.

    Raises: `UnknownNameError` for an unknown base, `XonncError` for properties that no hardware can have.
    """
    table = {**asdict(load_target(base)), **changes, "name": name, "has_measured_cycles": False}
    return _target(Path(name), table)


def _target(path: Path, table: dict[str, Any]) -> NvdlaTarget:
    """Return the target that a file describes; raise `XonncError` with a line for each problem in it."""
    target = NvdlaTarget(**values_of(NvdlaTarget, {"name": path.stem} | table, str(path), _KINDS, given=()))
    problems = [f"{path}: {reason}" for reason in _contradictions(target)]
    if problems:
        raise XonncError("\n".join(problems))
    return target


ATOMICS = (4, 8, 16, 32, 64, 128)
"""The values that `atomic_c` and `atomic_k` may have."""


def _contradictions(target: NvdlaTarget) -> Iterator[str]:
    """Yield the properties that no hardware can have (docs/internals/nvdla-hardware.md §3.1, §3.7)."""
    atom, entry = target.memory_atom_bytes, target.cbuf_entry_bytes
    if atom not in (8, 16, 32, 64):
        yield f"memory_atom_bytes = {atom}; it is 8, 16, 32 or 64"
    elif entry % atom or entry // atom not in (1, 2, 4):
        yield f"cbuf_entry_bytes = {entry}; it is 1, 2 or 4 times memory_atom_bytes = {atom}"
    for name, value in (("atomic_c", target.atomic_c), ("atomic_k", target.atomic_k)):
        if value not in ATOMICS:
            yield f"{name} = {value}; it is one of {', '.join(map(str, ATOMICS))}"
    if target.cbuf_banks > 32:
        yield f"cbuf_banks = {target.cbuf_banks}; descriptors count up to 32"
    if target.memory_bits % 8:
        yield f"memory_bits = {target.memory_bits}; it is whole bytes"
    if target.cvsram_bits % 8:
        yield f"cvsram_bits = {target.cvsram_bits}; it is whole bytes"


PRECISIONS = ("int8", "int16", "fp16")


def _is_precisions(value: Any) -> bool:
    return is_names(value) and bool(value) and set(value) <= set(PRECISIONS)


def _is_byte_count(value: Any) -> bool:
    return is_integer(value) and value >= 0


_KINDS = {
    **KINDS,
    "tuple[str, ...]": PropertyType(f"a list of {', '.join(PRECISIONS)}", _is_precisions),
    "ByteCount": PropertyType("an integer, 0 for none", _is_byte_count),
}
