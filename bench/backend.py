"""
Runs the cases of onnx.backend.test: how many pass, and how many without a call of the reference evaluator.

    python bench/backend.py [--kind node] [--match relu] [--list]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from xonnc.backend import prepare
from xonnc.errors import XonncError


class Case(Protocol):
    """What is used of a test case of onnx, which has no types."""

    name: str
    model: onnx.ModelProto | None
    data_sets: Sequence[tuple[Sequence[object], Sequence[object]]] | None
    model_dir: str | None
    """Where the case lies if it is not in memory."""
    rtol: float
    atol: float


@dataclass(frozen=True)
class Outcome:
    """How a case went: why it failed (empty: it passed), and what ran on the host."""

    failure: str
    host: Sequence[str]


def cases(kind: str) -> Iterator[Case]:
    """The cases of a kind that come with their data."""
    found: Sequence[Case] = import_module("onnx.backend.test.loader").load_model_tests(kind=kind)
    return iter(found)


def run(case: Case) -> Outcome:
    """Compiles a case and runs its data sets."""
    host: Sequence[str] = ()
    try:
        model, data_sets = contents(case)
        prepared = prepare(model)
        for inputs, wanted in data_sets:
            given = prepared.run([array_of(each) for each in inputs])
            host = prepared.session.host_calls()
            for one, other in zip(given, wanted, strict=True):
                _compare(one, array_of(other), case)
    except (XonncError, AssertionError, ValueError) as error:
        return Outcome(" ".join(str(error).split())[:150] or type(error).__name__, host)
    return Outcome("", host)


def contents(
    case: Case,
) -> tuple[onnx.ModelProto, Sequence[tuple[Sequence[object], Sequence[object]]]]:
    if case.model is not None and case.data_sets is not None:
        return case.model, case.data_sets
    folder = Path(case.model_dir or "")
    model = onnx.ModelProto.FromString((folder / "model.onnx").read_bytes())
    data_sets: list[tuple[Sequence[object], Sequence[object]]] = []
    for data in sorted(folder.glob("test_data_set_*")):
        inputs = [_read(data / f"input_{i}.pb", port) for i, port in enumerate(model.graph.input)]
        outputs = [_read(data / f"output_{i}.pb", port) for i, port in enumerate(model.graph.output)]
        data_sets.append((inputs, outputs))
    return model, data_sets


def array_of(value: object) -> object:
    """Types that numpy lacks come as messages."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _read(path: Path, port: onnx.ValueInfoProto) -> object:
    data = path.read_bytes()
    kind = port.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _compare(given: object, wanted: object, case: Case) -> None:
    ones, others = _tensors(given), _tensors(wanted)
    if len(ones) != len(others):
        raise AssertionError(f"{len(ones)} tensors, not {len(others)}")
    for one, other in zip(ones, others, strict=True):
        if one is not None or other is not None:
            _compare_arrays(np.asarray(one), np.asarray(other), case)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


def _tensors(value: object) -> Sequence[object]:
    """A sequence's tensors; a tensor is one of one."""
    return value if _is_list(value) else [value]


def _compare_arrays(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic], case: Case) -> None:
    if one.shape != other.shape:
        raise AssertionError(f"shape {list(one.shape)}, not {list(other.shape)}")
    if one.dtype.kind in "OUS" or other.dtype.kind in "OUS":
        assert one.astype(str).tolist() == other.astype(str).tolist(), "other strings"
        return
    if one.dtype != other.dtype:
        raise AssertionError(f"type {one.dtype}, not {other.dtype}")
    if one.dtype.kind in "biu":
        assert np.array_equal(one, other), "other integers"
    elif one.dtype.kind == "c":
        ones, others = np.asarray(one, np.complex128), np.asarray(other, np.complex128)
        np.testing.assert_allclose(ones, others, rtol=case.rtol, atol=case.atol)
    else:
        reals = np.asarray(one, np.float64), np.asarray(other, np.float64)
        np.testing.assert_allclose(*reals, rtol=case.rtol, atol=case.atol)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--kind", default="node", choices=["node", "simple", "pytorch-converted", "real"])
    parser.add_argument("--match", default="", help="cases whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="one case of so many")
    parser.add_argument("--list", action="store_true", help="names what fails and what runs on the host")
    options = parser.parse_args(arguments)
    chosen = [case for case in cases(options.kind) if options.match in case.name][:: options.every]
    passed = native = 0
    hosts: Counter[str] = Counter()
    for case in chosen:
        outcome = run(case)
        passed += not outcome.failure
        native += not outcome.failure and not outcome.host
        hosts.update(set(outcome.host))
        if options.list and (outcome.failure or outcome.host):
            print(f"{case.name}: {outcome.failure or 'host: ' + ' '.join(outcome.host)}", flush=True)
    print(f"{passed} of {len(chosen)} pass, {native} without a host call")
    for operator, count in hosts.most_common(60):
        print(f"  {operator}: {count} cases with a host call")


if __name__ == "__main__":
    main()
