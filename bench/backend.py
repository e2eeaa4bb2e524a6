"""
The test cases of onnx.backend.test as native code: how many pass, and how many call the reference evaluator.

    python bench/backend.py [--kind node] [--match relu] [--dynamic] [--list]
    python bench/backend.py --write docs/native-nodes.md       all kinds, as a page
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from xonnc.backend import prepare
from xonnc.errors import XonncError

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
"""Kinds of test cases; `real` are the light models."""


class BackendCase(Protocol):
    """The fields used of `onnx.backend.test.case.TestCase`, which is untyped."""

    name: str
    model: onnx.ModelProto | None
    data_sets: Sequence[tuple[Sequence[object], Sequence[object]]] | None
    model_dir: str | None
    """Folder of a case that is stored on disk."""
    url: str | None
    """URL of a case whose model is part of the light models."""
    rtol: float
    atol: float


KNOWN_FAILURES = (
    ("attention_.*_(bf16|fp16)", "its softmax rounds once; the expected output is rounded after each step"),
    ("bernoulli", "it samples random values, other than the expected ones"),
    ("dft_inverse", "the expected output has rounding errors of 2e-7 where the exact result is 0"),
    (
        "image_decoder",
        "encoded images: ImageDecoder has no kernel, and its reference implementation needs Pillow",
    ),
    ("scan_sum", "Scan of opset 8, over batches, which the reference evaluator does not run"),
    ("gradient_of", "training: Gradient has no kernel, and the reference evaluator lacks it"),
)
"""Expected failures: pattern of the case name, and reason. Any other failure is an error."""


@dataclass(frozen=True)
class BackendResult:
    """Result of a case: the failure (empty if it passed), and the host calls with their reasons."""

    name: str
    failure: str
    host: Sequence[tuple[str, str]]

    @property
    def reason(self) -> str:
        """Why the failure is expected; empty if it is not."""
        return next((reason for pattern, reason in KNOWN_FAILURES if re.search(pattern, self.name)), "")


def load_cases(kind: str) -> Iterator[BackendCase]:
    """The test cases of a kind."""
    found: Sequence[BackendCase] = import_module("onnx.backend.test.loader").load_model_tests(kind=kind)
    return iter(found)


def run(case: BackendCase, is_dynamic: bool = False) -> BackendResult:
    """Compile a case, with dynamic input shapes if `is_dynamic`, and run its data sets."""
    host: Sequence[tuple[str, str]] = ()
    try:
        model, data_sets = load_case(case)
        if is_dynamic:
            model = with_dynamic_inputs(model)
        prepared = prepare(model)
        for inputs, expected in data_sets:
            given = prepared.run([to_array(each) for each in inputs])
            lines = prepared.session.report()
            host = [(line.what, line.reason) for line in lines if line.where == "host"]
            for one, other in zip(given, expected, strict=True):
                _compare(one, to_array(other), case)
    except (XonncError, AssertionError, ValueError) as error:
        return BackendResult(case.name, " ".join(str(error).split())[:150] or type(error).__name__, host)
    return BackendResult(case.name, "", host)


def with_dynamic_inputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a symbolic dimension for each input axis, and no shapes of other values."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    for port in found.graph.input:
        for axis, size in enumerate(_tensor_type(port.type).shape.dim):
            size.dim_param = f"{port.name}_{axis}"
    for port in found.graph.output:
        for size in _tensor_type(port.type).shape.dim:
            size.Clear()
    del found.graph.value_info[:]
    return found


def _tensor_type(type_: onnx.TypeProto) -> onnx.TypeProto.Tensor:
    """The tensor type within a sequence or optional type."""
    if type_.HasField("sequence_type"):
        return _tensor_type(type_.sequence_type.elem_type)
    if type_.HasField("optional_type"):
        return _tensor_type(type_.optional_type.elem_type)
    return type_.tensor_type


def load_case(
    case: BackendCase,
) -> tuple[onnx.ModelProto, Sequence[tuple[Sequence[object], Sequence[object]]]]:
    if case.model is not None and case.data_sets is not None:
        return case.model, case.data_sets
    if case.model_dir is None:
        return _light(case)
    folder = Path(case.model_dir)
    model = onnx.ModelProto.FromString((folder / "model.onnx").read_bytes())
    data_sets: list[tuple[Sequence[object], Sequence[object]]] = []
    for data in sorted(folder.glob("test_data_set_*")):
        inputs = _read_all(data, "input", model.graph.input)
        data_sets.append((inputs, _read_all(data, "output", model.graph.output)))
    return model, data_sets


def _light(case: BackendCase) -> tuple[onnx.ModelProto, Sequence[tuple[Sequence[object], Sequence[object]]]]:
    """A light model of the onnx package, with the input that onnx's own test runner feeds."""
    name = (case.url or "").rpartition("/")[2]
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    model = onnx.ModelProto.FromString((folder / name).read_bytes())
    outputs = [onnx.TensorProto.FromString((folder / f"{name[:-5]}_output_0.pb").read_bytes())]
    initialised = {tensor.name for tensor in model.graph.initializer}
    inputs: list[object] = []
    for port in model.graph.input:
        if port.name not in initialised:
            shape = [size.dim_value or 1 for size in port.type.tensor_type.shape.dim]
            count = int(np.prod(shape))
            inputs.append((np.arange(count).reshape(shape) / count).astype(np.float32))
    return model, [(inputs, outputs)]


def to_array(value: object) -> object:
    """Convert a TensorProto, which stands for element types that NumPy lacks."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _read_all(folder: Path, kind: str, ports: Sequence[onnx.ValueInfoProto]) -> list[object]:
    """Read the files of a data set; trailing inputs may be initializers without a file."""
    paths = [folder / f"{kind}_{number}.pb" for number in range(len(ports))]
    return [_read(path, port) for path, port in zip(paths, ports, strict=True) if path.exists()]


def _read(path: Path, port: onnx.ValueInfoProto) -> object:
    data = path.read_bytes()
    kind = port.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _compare(given: object, expected: object, case: BackendCase) -> None:
    ones, others = _tensors(given), _tensors(expected)
    if len(ones) != len(others):
        raise AssertionError(f"{len(ones)} tensors, not {len(others)}")
    for one, other in zip(ones, others, strict=True):
        if one is not None or other is not None:
            _compare_arrays(np.asarray(one), np.asarray(other), case)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


def _tensors(value: object) -> Sequence[object]:
    """The tensors of a sequence; a tensor counts as a sequence of one."""
    return value if _is_list(value) else [value]


def _compare_arrays(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic], case: BackendCase) -> None:
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


def page(found: Mapping[str, Sequence[BackendResult]]) -> str:
    """The documentation page: pass rates, failures and host calls with their reasons."""
    lines = [
        "# onnx.backend.test in native code",
        "",
        "For whoever wants to know how complete native code is. Written by",
        f"`python bench/backend.py --write docs/native-nodes.md` with onnx {version('onnx')}. A *host call*",
        "is a call of the ONNX reference evaluator; cases without one run as native code, or in the session,",
        "from input to output.",
        "",
        "| kind | cases | pass | without a host call |",
        "|---|---|---|---|",
    ]
    for kind, outcomes in found.items():
        passed = [each for each in outcomes if not each.failure]
        native = sum(not each.host for each in passed)
        share = len(passed) / max(len(outcomes), 1)
        lines.append(f"| {kind} | {len(outcomes)} | {len(passed)} ({share:.1%}) | {native} |")
    everything = [each for outcomes in found.values() for each in outcomes]
    lines += ["", "## Failures", ""]
    reasons: dict[str, list[str]] = {}
    for each in everything:
        if each.failure:
            reasons.setdefault(each.reason or each.failure, []).append(each.name.removeprefix("test_"))
    for reason, names in sorted(reasons.items()):
        lines.append(f"* {reason}: {', '.join(f'`{name}`' for name in sorted(names))}.")
    lines += ["", "## Host calls", "", "| operator | why | cases |", "|---|---|---|"]
    counts = Counter(pair for each in everything for pair in set(each.host))
    for (operator, why), count in sorted(counts.items()):
        lines.append(f"| `{operator}` | {why} | {count} |")
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the pass rates; exit 1 if a case fails unexpectedly."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--kind", default="node", choices=KINDS)
    parser.add_argument("--match", default="", help="cases whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="run every Nth case")
    parser.add_argument("--dynamic", action="store_true", help="make all input dimensions dynamic")
    parser.add_argument("--list", action="store_true", help="list failures and host calls")
    parser.add_argument("--write", type=Path, help="run all kinds and write a documentation page")
    options = parser.parse_args(arguments)
    found: dict[str, list[BackendResult]] = {}
    for kind in KINDS if options.write else [options.kind]:
        chosen = [case for case in load_cases(kind) if options.match in case.name][:: options.every]
        outcomes = found[kind] = []
        for case in chosen:
            outcomes.append(run(case, options.dynamic))
            if options.list and (outcomes[-1].failure or outcomes[-1].host):
                print(line(outcomes[-1]), flush=True)
        passed = [each for each in outcomes if not each.failure]
        native = sum(not each.host for each in passed)
        print(f"{kind}: {len(passed)} of {len(chosen)} pass, {native} without a host call", flush=True)
    everything = [each for outcomes in found.values() for each in outcomes]
    hosts = Counter(operator for each in everything for operator in {operator for operator, _ in each.host})
    for operator, count in hosts.most_common(60):
        print(f"  {operator}: {count} cases with a host call")
    if options.write:
        options.write.write_text(page(found))
    unknown = [each for each in everything if each.failure and not each.reason]
    for each in unknown:
        print(f"unexpected failure: {each.name}: {each.failure}")
    return 1 if unknown else 0


def line(outcome: BackendResult) -> str:
    """A line about a failure or the host calls of a case."""
    hosts = " ".join(operator for operator, _ in outcome.host)
    return f"{outcome.name}: {outcome.failure or f'host: {hosts}'}"


if __name__ == "__main__":
    sys.exit(main())
