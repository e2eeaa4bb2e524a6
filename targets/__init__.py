"""
Hardware described as data: one TOML file a target beside this one, or a user's own by path.

What a target can do is read from here by the verifier, the lowering, the messages and the documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xonnc.errors import UnknownNameError, XonncError, suggest
from xonnc.targets.toml_tables import KINDS, Kind, is_names, read_toml, values_of

FOLDER = Path(__file__).parent

DEFAULT_TARGET = "nv_full"
"""The target of those who name none."""


@dataclass(frozen=True, kw_only=True)
class NvdlaTarget:
    """
    One configuration of NVDLA (docs/internals/nvdla-hardware.md §3.1, §8.4); sizes in elements unless they
    say bytes.
    """

    name: str
    description: str
    precisions: tuple[str, ...]
    """Element types of the datapath: `int8`, `int16`, `fp16`."""
    atomic_c: int
    """Input channels multiplied at a time."""
    atomic_k: int
    """INT8 kernels that work at a time; half as many with 16 bits."""
    memory_atom_bytes: int
    """The unit of feature cubes in memory: channels that lie together at one pixel."""
    cbuf_banks: int
    cbuf_entries: int
    """Entries of one bank of the convolution buffer."""
    cbuf_entry_bytes: int
    batch: int = 1
    """Images one convolution can take."""
    sdp_y: bool = False
    """Whether the SDP has its third stage and its lookup table."""
    rubik: bool = False
    bdma: bool = False
    winograd: bool = False
    weight_compression: bool = False
    long_stripes: bool = True
    """
    Whether the convolution sequencer takes more positions at a time while many remain, as in the configurable
    design; the first design has 16 (§8.3).
    """
    queues_bank_splits: bool = True
    """
    Whether a convolution may be queued behind one with another split of the buffer; the first design may hang
    (§9.2).
    """
    clock_mhz: float = 1000.0
    dram_gb_per_s: float = 10.0
    """Reads and writes together."""
    memory_bits: int = 64
    """The width of the interface to memory."""
    memory_latency_cycles: int = 64
    """What the design expects memory to take to answer."""
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
        """What memory delivers in a cycle: its bandwidth, or the width of the interface if that is less."""
        return min(self.dram_gb_per_s * 1000 / self.clock_mhz, self.memory_bits / 8)

    @property
    def has_16_bits(self) -> bool:
        """Whether the datapath is for 16 bits, INT8 going two by two through it."""
        return self.precisions != ("int8",)


def target_names() -> list[str]:
    """The targets that come with the compiler."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


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
    elif name in target_names():
        path = FOLDER / f"{name}.toml"
    else:
        raise UnknownNameError(
            f"no target '{name}'{suggest(name, target_names()) or '.'} "
            f"There are {', '.join(target_names())}; "
            "a .toml file of your own serves as well"
        )
    return _target(path, read_toml(path))


def _target(path: Path, table: dict[str, Any]) -> NvdlaTarget:
    """The target that a file describes; an error with a line for everything wrong in it."""
    target = NvdlaTarget(**values_of(NvdlaTarget, {"name": path.stem} | table, str(path), _KINDS, given=()))
    problems = [f"{path}: {reason}" for reason in _contradictions(target)]
    if problems:
        raise XonncError("\n".join(problems))
    return target


ATOMICS = (4, 8, 16, 32, 64, 128)
"""Channels and kernels that a convolution core may take in a cycle."""


def _contradictions(target: NvdlaTarget) -> Iterator[str]:
    """What cannot be built (docs/internals/nvdla-hardware.md §3.1, §3.7)."""
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


PRECISIONS = ("int8", "int16", "fp16")


def _is_precisions(value: Any) -> bool:
    return is_names(value) and bool(value) and set(value) <= set(PRECISIONS)


_KINDS = {**KINDS, "tuple[str, ...]": Kind(f"a list of {', '.join(PRECISIONS)}", _is_precisions)}
