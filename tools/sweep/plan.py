"""The file that describes a sweep, and the cases of which it consists."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path

import onnx
from onnx.external_data_helper import load_external_data_for_model

from xonnc.errors import XonncError
from xonnc.runtime.native.cache import cache_key
from xonnc.targets import load_target
from xonnc.targets.toml_tables import read_toml, values_of

PRECISIONS = ("int8", "float")


@dataclass(frozen=True, kw_only=True)
class SweepFile:
    """The properties of a sweep; paths are relative to its file."""

    models: tuple[str, ...]
    """Files of models, or patterns of such."""
    targets: tuple[str, ...]
    """NVDLA targets, by name or as TOML files."""
    precisions: tuple[str, ...] = ("int8",)
    """`int8`, or `float` for models as they are."""
    samples: str = ""
    """Calibration samples for `int8`; generated ones if empty."""


@dataclass(frozen=True)
class Case:
    """A model compiled for a target in one precision."""

    model: str
    target: str
    precision: str
    samples: str

    def key(self) -> str:
        """Return the digest of the contents of all that the result depends on, the compiler too."""
        hardware = json.dumps(asdict(load_target(self.target)), sort_keys=True)
        samples = _digest_of_samples(self.samples) if self.precision == "int8" else ""
        parts = (digest_of_model(self.model), hardware, self.precision, samples)
        return cache_key(part.encode() for part in parts)


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a sweep; raise `XonncError` for a file that does not describe one."""
    sweep = SweepFile(**values_of(SweepFile, read_toml(path), str(path), given=()))
    folder = path.parent
    models: list[str] = []
    for pattern in sweep.models:
        found = sorted(map(str, folder.glob(pattern)))
        if not found:
            raise XonncError(f"{path}: models: no file '{pattern}' in {folder}")
        models += found
    targets = [str(folder / each) if each.endswith(".toml") else each for each in sweep.targets]
    for target in targets:
        load_target(target)
    for precision in sweep.precisions:
        if precision not in PRECISIONS:
            raise XonncError(f"{path}: precisions: '{precision}'; there are {', '.join(PRECISIONS)}")
    samples = str(folder / sweep.samples) if sweep.samples else ""
    if samples and not Path(samples).exists():
        raise XonncError(f"{path}: samples: {samples}: no such file or folder")
    cases = [Case(*each, samples) for each in product(dict.fromkeys(models), targets, sweep.precisions)]
    if not cases:
        raise XonncError(f"{path}: no cases: models, targets and precisions each name at least one")
    return cases


@cache
def digest_of_model(path: str) -> str:
    """Return the digest of a model with its external data."""
    content = Path(path).read_bytes()
    # Text, or not a model: its bytes are its contents, or the compiler says what is wrong.
    with suppress(Exception):
        model = onnx.ModelProto.FromString(content)
        load_external_data_for_model(model, str(Path(path).parent))
        content = model.SerializeToString(deterministic=True)
    return sha256(content).hexdigest()


@cache
def _digest_of_samples(path: str) -> str:
    digest = sha256()
    if path:
        files = sorted(Path(path).iterdir()) if Path(path).is_dir() else [Path(path)]
        for file in files:
            digest.update(file.name.encode() + b"\0" + sha256(file.read_bytes()).digest())
    return digest.hexdigest()
