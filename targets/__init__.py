"""
Hardware described as data: one TOML file a target beside this one, or a user's own by path.

What a target can do is read from here by the verifier, the lowering, the messages and the documentation.
"""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, dataclass, fields
from math import inf
from pathlib import Path
from typing import Any

from xonnc.errors import XonncError, near

FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class NvdlaTarget:
    """One configuration of NVDLA (spec/nvdla.md §3.1, §8.4); sizes in elements unless they say bytes."""

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
    clock_mhz: float = 1000.0
    dram_gb_per_s: float = 10.0
    sdp_elements_per_cycle: float = 1.0
    sdp_y_elements_per_cycle: float = 1.0
    pdp_elements_per_cycle: float = 1.0
    cdp_elements_per_cycle: float = 1.0

    @property
    def cbuf_bytes(self) -> int:
        """The size of the convolution buffer."""
        return self.cbuf_banks * self.cbuf_entries * self.cbuf_entry_bytes


def target_names() -> list[str]:
    """The targets that come with the compiler."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_target(name: str) -> NvdlaTarget:
    """The target called `name`, or described by the TOML file at that path."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise XonncError(f"{name}: no such target file")
    elif name in target_names():
        path = FOLDER / f"{name}.toml"
    else:
        raise XonncError(
            f"no target '{name}'{near(name, target_names()) or '.'} There are {', '.join(target_names())}; "
            "a .toml file of your own serves as well"
        )
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise XonncError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise XonncError(f"{path}: {error}") from None
    return _target(path, table)


def _target(path: Path, table: dict[str, Any]) -> NvdlaTarget:
    known = {field.name: field for field in fields(NvdlaTarget)}
    values: dict[str, Any] = {"name": path.stem} | table
    for key, value in values.items():
        if key not in known:
            raise XonncError(f"{path}: no property '{key}'{near(key, known)}")
        values[key] = _checked(path, key, str(known[key].type), value)
    missing = [key for key, field in known.items() if field.default is MISSING and key not in values]
    if missing:
        raise XonncError(f"{path}: {', '.join(missing)} must be given")
    return NvdlaTarget(**values)


_KINDS = {
    "str": "text",
    "bool": "true or false",
    "int": "a whole number above 0",
    "float": "a number above 0",
    "tuple[str, ...]": "a list of int8, int16, fp16",
}


def _checked(path: Path, key: str, kind: str, value: Any) -> Any:
    match kind, value:
        case ("str", str()) | ("bool", bool()):
            return value
        case ("int", int()) | ("float", int() | float()) if 0 < value < inf and not isinstance(value, bool):
            return float(value) if kind == "float" else value
        case "tuple[str, ...]", ["int8" | "int16" | "fp16", *rest] if {"int8", "int16", "fp16"}.issuperset(
            rest
        ):
            return tuple(value)
        case _:
            raise XonncError(f"{path}: {key} = {value!r}; it is {_KINDS[kind]}")
