"""The file that describes a sweep, and the cases of which it consists."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path

from xdsl.utils.hints import isa

from xonnc.errors import XonncError
from xonnc.formats.onnx.loaded_export import load_proto
from xonnc.runtime.calibration import DEFAULT_METHOD, METHODS
from xonnc.runtime.native.cache import cache_key
from xonnc.targets.toml_tables import read_toml, values_of
from xonnc.tools.sweep.target_ranges import TargetChoice, read_ranges

PRECISIONS = ("int8", "float")


@dataclass(frozen=True, kw_only=True)
class SweepFile:
    """The properties of a sweep; paths are relative to its file."""

    models: tuple[str, ...]
    """Files of models, or patterns of such."""
    targets: tuple[str, ...] = ()
    """NVDLA targets, by name or as TOML files."""
    precisions: tuple[str, ...] = ("int8",)
    """`int8`, or `float` for models as they are."""
    samples: str = ""
    """Calibration samples for `int8`; generated ones if empty."""
    calibrations: tuple[str, ...] = (DEFAULT_METHOD,)
    """Methods by which samples become ranges, for `int8`."""


@dataclass(frozen=True)
class Case:
    """A model compiled for a target in one precision."""

    model: str
    target: TargetChoice
    precision: str
    samples: str = ""
    calibration: str = DEFAULT_METHOD
    """The calibration method; of no effect in float."""

    def calibration_key(self) -> str:
        """Return the digest of what ranges depend on: the same for all targets."""
        return cache_key(
            part.encode()
            for part in (digest_of_model(self.model), _digest_of_samples(self.samples), self.calibration)
        )

    def key(self) -> str:
        """Return the digest of the contents of all that the result depends on, the compiler too."""
        hardware = json.dumps(asdict(self.target.load()), sort_keys=True)
        ranges = self.calibration_key() if self.precision == "int8" else ""
        parts = (digest_of_model(self.model), hardware, self.precision, ranges)
        return cache_key(part.encode() for part in parts)


def read_targets(path: Path) -> list[TargetChoice]:
    """Return the targets of a sweep; raise `XonncError` for a file that does not describe one."""
    return _read(path)[1]


def _read(path: Path) -> tuple[SweepFile, list[TargetChoice]]:
    table = read_toml(path)
    ranges = table.pop("target", [])
    sweep = SweepFile(**values_of(SweepFile, table, str(path), given=()))
    named = (str(path.parent / each) if each.endswith(".toml") else each for each in sweep.targets)
    targets = [TargetChoice(each) for each in named]
    for target in targets:
        target.load()
    if not isa(ranges, list[dict[str, object]]):
        raise XonncError(f"{path}: target: tables [[target]], each with a base and the properties to vary")
    for each in ranges:
        targets += read_ranges(each, path.parent, str(path))
    return sweep, list(dict.fromkeys(targets))


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a sweep; raise `XonncError` for a file that does not describe one."""
    sweep, targets = _read(path)
    folder = path.parent
    models: list[str] = []
    for pattern in sweep.models:
        found = sorted(map(str, folder.glob(pattern)))
        if not found:
            raise XonncError(f"{path}: models: no file '{pattern}' in {folder}")
        models += found
    for precision in sweep.precisions:
        if precision not in PRECISIONS:
            raise XonncError(f"{path}: precisions: '{precision}'; there are {', '.join(PRECISIONS)}")
    for method in sweep.calibrations:
        if method not in METHODS:
            raise XonncError(f"{path}: calibrations: '{method}'; there are {', '.join(METHODS)}")
    samples = str(folder / sweep.samples) if sweep.samples else ""
    if samples and not Path(samples).exists():
        raise XonncError(f"{path}: samples: {samples}: no such file or folder")
    cases = [
        Case(model, target, precision, samples, method)
        for model, precision in product(dict.fromkeys(models), sweep.precisions)
        # Cases with the same ranges follow each other, so that a worker measures them once.
        for method in (sweep.calibrations if precision == "int8" else (DEFAULT_METHOD,))
        for target in targets
    ]
    if not cases:
        raise XonncError(
            f"{path}: no cases: models, targets, precisions and calibrations each name at least one"
        )
    return cases


@cache
def digest_of_model(path: str) -> str:
    """Return the digest of a model with its external data."""
    content = Path(path).read_bytes()
    # Not a model, or more than 2 GB: the compiler says what is wrong.
    with suppress(Exception):
        content = load_proto(path).SerializeToString(deterministic=True)
    return sha256(content).hexdigest()


@cache
def _digest_of_samples(path: str) -> str:
    digest = sha256()
    if path:
        files = sorted(Path(path).iterdir()) if Path(path).is_dir() else [Path(path)]
        for file in files:
            digest.update(file.name.encode() + b"\0" + sha256(file.read_bytes()).digest())
    return digest.hexdigest()
