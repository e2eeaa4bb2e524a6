"""Options that quantize a model: samples or a table of ranges, and how samples become ranges."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.runtime.calibration import METHODS
from xonnc.tools.console import plural
from xonnc.tools.files import require_output

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.calibration import Auto
    from xonnc.executors.executor import Executor
    from xonnc.formats.nvdla.calibration import Ranges
    from xonnc.lowering.qdq.qdq_params import ActivationType
    from xonnc.lowering.quantization_statistics.float_selection import FloatSelection
    from xonnc.quantizer import QuantizedModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that say where ranges come from."""
    ranges = parser.add_mutually_exclusive_group()
    ranges.add_argument(
        "--calibrate",
        type=Path,
        metavar="DATA",
        help="quantize a float model to INT8 with ranges measured on samples (.npz, .npy, a folder)",
    )
    ranges.add_argument("--calib", type=Path, metavar="FILE", help="the same, with a calibration table")
    parser.add_argument(
        "--calibration-method",
        choices=METHODS,
        default=METHODS[0],
        help="calibration method (default: %(default)s)",
    )
    workers = parser.add_mutually_exclusive_group()
    workers.add_argument(
        "--jobs",
        type=int,
        default=0,
        metavar="N",
        help="processes that run the samples (default: this one, with threads)",
    )
    workers.add_argument(
        "--scheduler", metavar="ADDRESS", help="run the samples on a Dask cluster: tcp://host:8786"
    )
    parser.add_argument("--save-calib", type=Path, metavar="FILE", help="write the calibration table")


def add_keep_float(add: Callable[..., argparse.Action]) -> None:
    """The option for nodes that are not quantized; `add` is the method of a parser or a group."""
    add(
        "--keep-float",
        action="append",
        default=[],
        metavar="NODE",
        help="leave this node in float; may be repeated",
    )


def add_accuracy(add: Callable[..., argparse.Action]) -> None:
    """The option for the accuracy to reach; `add` is the method of a parser or a group."""
    add(
        "--accuracy",
        type=float,
        metavar="A",
        help="keep nodes in float until each output has this cosine similarity with the float model's on the "
        "samples, such as 0.99",
    )


def add_wide(add: Callable[..., argparse.Action]) -> None:
    """The option for layers of two tensors; `add` is the method of a parser or a group."""
    add(
        "--wide",
        type=wide_layers,
        default=0,
        metavar="N",
        help="keep the rounding errors of the first N convolutions with an activation in second tensors; "
        "auto takes those that reduce the error on the samples most",
    )
    add(
        "--wide-budget",
        type=float,
        metavar="R",
        help="the time that --wide auto may take, relative to that without wide layers (default: 1.5)",
    )


def wide_layers(text: str) -> int | Auto:
    """Return the number of wide layers of `--wide`, or `auto`; `ArgumentTypeError` for anything else."""
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is neither a number of layers nor auto") from None


def inputs(args: argparse.Namespace) -> list[Path]:
    """Return the files that the command reads, which no output may replace."""
    return [file for file in (args.model, args.calib, args.calibrate) if file is not None]


def require_output_of(args: argparse.Namespace) -> None:
    """Refuse a table that cannot be written or is an input, before anything is computed."""
    if args.save_calib is not None:
        require_output(args.save_calib, (".json",), *inputs(args), takes_others=True)


def ranges(args: argparse.Namespace, module: ModuleOp, step: Callable[[int, int, str], None]) -> Ranges:
    """Return the ranges of a calibration table, or those of samples, for NVDLA."""
    from xonnc.calibration import WIDE_BUDGET, calibrate_module, input_shapes, read_samples
    from xonnc.formats.nvdla.calibration import write_calibration

    if args.calib:
        found = _table(args.calib, module)
    else:
        samples = read_samples(args.calibrate, input_shapes(module))
        with _executor(args) as executor:
            method = args.calibration_method
            budget = WIDE_BUDGET if args.wide_budget is None else args.wide_budget
            found = calibrate_module(module, samples, method, step, executor, args.target, args.wide, budget)
    if args.save_calib:
        write_calibration(args.save_calib, found)
    return found


def mark_float_nodes(
    args: argparse.Namespace, module: ModuleOp, ranges: Ranges, step: Callable[[int, int, str], None]
) -> FloatSelection | None:
    """Mark the nodes that stay in float, for NVDLA; return those selected for an accuracy."""
    from xonnc.calibration import input_shapes, read_samples, select_float
    from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops, keep_float, mark_float

    keep_float(module, args.keep_float)
    if args.accuracy is None:
        return None
    samples = read_samples(args.calibrate, input_shapes(module))
    found = select_float(module, ranges, samples, args.accuracy, step, args.target)
    ops = computing_ops(module)
    mark_float([ops[index] for index in found.indices])
    return found


def selection_text(selection: FloatSelection) -> str:
    """Return the line of a report that says what an accuracy took."""
    if not selection.nodes:
        return f"{selection.accuracy:.4f} with all nodes in INT8"
    names = ", ".join(selection.nodes[:4]) + (", …" if len(selection.nodes) > 4 else "")
    return (
        f"{selection.accuracy:.4f} with {plural(len(selection.nodes), 'node')} in float ({names}), "
        f"{selection.quantized_accuracy:.4f} without"
    )


def quantized(
    args: argparse.Namespace,
    input_shapes: Mapping[str, Sequence[int]],
    step: Callable[[int, int, str], None],
    activations: ActivationType = "uint8",
    per_tensor: bool = False,
) -> QuantizedModel:
    """Return the model quantized as the options ask, for any runtime; write the table if asked."""
    from xonnc.formats.nvdla.calibration import write_calibration
    from xonnc.quantizer import quantize

    if getattr(args, "wide", 0):
        raise XonncError("--wide is for NVDLA, whose convolutions read two tensors; choose such a target")
    with _executor(args) as executor:
        found = quantize(
            args.model,
            (lambda module: _table(args.calib, module)) if args.calib else args.calibrate,
            method=args.calibration_method,
            activations=activations,
            per_tensor=per_tensor,
            keep_float=args.keep_float,
            accuracy=args.accuracy,
            input_shapes=input_shapes,
            strict=args.strict,
            step=step,
            executor=executor,
        )
    if args.save_calib:
        write_calibration(args.save_calib, found.ranges)
    return found


def is_given(args: argparse.Namespace) -> bool:
    """Return whether the model is to be quantized; `XonncError` for options that say how without that."""
    if args.accuracy is not None:
        from xonnc.calibration import require_accuracy

        require_accuracy(args.accuracy)
        if args.calib:
            raise XonncError("--accuracy is measured on samples: --calibrate gives them, a table has none")
    if getattr(args, "wide", 0) and args.calib:
        raise XonncError("--wide is for samples: --calibrate gives them, a table says itself what is wide")
    if args.calibrate or args.calib:
        return True
    if getattr(args, "wide_budget", None) is not None and args.wide != "auto":
        raise XonncError("--wide-budget is for --wide auto, which chooses layers; add that")
    for option in ("accuracy", "keep_float", "save_calib", "jobs", "scheduler", "wide"):
        if getattr(args, option, 0) not in (None, [], 0):
            name = option.replace("_", "-")
            raise XonncError(f"--{name} is for quantized models: --calibrate or --calib gives the ranges")
    return False


@contextmanager
def _executor(args: argparse.Namespace) -> Generator[Executor | None]:
    """Yield what runs the samples; `None` for this process."""
    from xonnc.executors.open_executor import open_executor

    if args.jobs < 0:
        raise XonncError(f"--jobs {args.jobs}: a number of processes, or 0 for this process")
    if args.jobs or args.scheduler:
        with open_executor(args.jobs, args.scheduler) as executor:
            yield executor
    else:
        yield None


def _table(path: Path, module: ModuleOp) -> Ranges:
    from xonnc.formats.nvdla.calibration import read_calibration
    from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import name_values

    name_values(module)
    return read_calibration(path)
