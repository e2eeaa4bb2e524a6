"""The command line of onnxsim: `python -m xonnc.compat.onnxsim IN OUT [check_n]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx

from xonnc.compat.onnxoptimizer.manager import default_passes
from xonnc.compat.onnxoptimizer.registry import PASSES
from xonnc.compat.onnxsim.model_info import print_simplifying_info
from xonnc.compat.onnxsim.profile import DEFAULT_ORT_PROFILE, DEFAULT_PROFILE
from xonnc.compat.onnxsim.simplify import DEFAULT_EXTERNAL_DATA_THRESHOLD, save, simplify, size_of
from xonnc.errors import XonncError
from xonnc.formats.onnx.load_model import load
from xonnc.formats.onnx.loaded_export import whole_model
from xonnc.formats.onnx.tensors import DTYPES, AnyArray
from xonnc.rewriting.statistics import Ledger, collecting


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="onnxsim", description="Simplify an ONNX model.")
    parser.add_argument("input_model", type=Path, help="the model")
    parser.add_argument("output_model", type=Path, help="the simplified model")
    parser.add_argument("check_n", nargs="?", type=int, default=0, help="compare on so many inputs")
    parser.add_argument("--skip-fuse-bn", action="store_true", help="keep batch normalizations apart")
    parser.add_argument(
        "--skip-optimization", nargs="*", metavar="NAME", help="skip all rewrites, or these passes"
    )
    parser.add_argument("--skip-constant-folding", action="store_true", help="keep operators on constants")
    parser.add_argument("--skip-shape-inference", action="store_true", help="accepted")
    parser.add_argument(
        "--include-subgraph", action="store_true", help="accepted; subgraphs are always simplified"
    )
    parser.add_argument("--no-large-tensor", nargs="?", help="accepted")
    for option in (
        "--dynamic-input-shape",
        "--enable-fuse-bn",
        "--enable-onnxruntime-optimization",
        "--skip-schema-import",
    ):
        parser.add_argument(option, action="store_true", help="accepted")
    parser.add_argument(
        "--skip-optimizer",
        nargs="+",
        default=[],
        metavar="NAME",
        help="older name of --skip-optimization",
    )
    parser.add_argument(
        "--enable-optimization",
        nargs="+",
        default=[],
        metavar="NAME",
        help="run these passes of ONNX-optimizer too",
    )
    parser.add_argument("--custom-lib", metavar="FILE", help="refused; operators of your own are plug-ins")
    parser.add_argument(
        "--initializers-as-non-constants",
        action="store_true",
        help="leave initializers and what reads them as they are",
    )
    for option, help_text in (
        ("--input-shape", "the older name of --overwrite-input-shape"),
        ("--overwrite-input-shape", "new shapes of inputs: NAME:1,3,224,224, or the shape of the only input"),
        ("--test-input-shape", "shapes of dynamic inputs for the comparison"),
    ):
        parser.add_argument(option, nargs="+", default=[], metavar="SHAPE", help=help_text)
    parser.add_argument(
        "--input-data-path", nargs="+", default=[], metavar="NAME:FILE", help="raw input data"
    )
    parser.add_argument("--input-fill", default="random", choices=["random", "ones", "zeros", "arange"])
    parser.add_argument("--unused-output", nargs="+", default=[], metavar="NAME", help="outputs to remove")
    parser.add_argument("--mutable-initializer", action="store_true", help="keep inputs with an initializer")
    parser.add_argument("--inline-functions", action="store_true", help="inline local functions")
    parser.add_argument("--target-opset", type=_opset, metavar="N", help="convert to this opset, or latest")
    parser.add_argument("--check-rtol", type=float, default=1e-4, help="relative tolerance")
    parser.add_argument("--check-atol", type=float, default=1e-5, help="absolute tolerance")
    parser.add_argument("--save-as-external-data", action="store_true", help="write weights to OUT.data")
    parser.add_argument(
        "--external-data-threshold",
        default=DEFAULT_EXTERNAL_DATA_THRESHOLD,
        metavar="SIZE",
        help="write weights to OUT.data if the model has this size or more (default: %(default)s)",
    )
    parser.add_argument(
        "--certify",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="list the rewrite rules that applied, each with its proof or comparison; fail if one is wrong",
    )
    parser.add_argument(
        "--providers",
        nargs="+",
        metavar="NAME",
        help="execution providers of onnxruntime; checked, but constants are folded on the CPU",
    )
    parser.add_argument("--cuda", action="store_true", help="the same as --providers CUDAExecutionProvider")
    parser.add_argument(
        "--profile",
        nargs="?",
        const=DEFAULT_PROFILE,
        metavar="FILE",
        help=f"print times, and write a trace for Perfetto (default: {DEFAULT_PROFILE})",
    )
    parser.add_argument(
        "--ort-profile",
        nargs="?",
        const=DEFAULT_ORT_PROFILE,
        metavar="PREFIX",
        help="write onnxruntime's own profiles of the comparison",
    )
    parser.add_argument(
        "--merge-ort-profile", action="store_true", help="make these part of the trace of --profile"
    )
    parser.add_argument("-v", "--version", action="version", version=f"onnxsim of xonnc {version('xonnc')}")
    for option, of_default, which in (
        ("--list-default-optimizers", True, "of the default"),
        ("--list-other-optimizers", False, "for --enable-optimization"),
    ):
        text = f"print the names of passes {which}"
        parser.add_argument(option, action=_PrintPasses, nargs=0, const=of_default, help=text)
    return parser


class _PrintPasses(argparse.Action):
    """Prints the names of the default passes, or of the others, and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        default = default_passes()
        names = default if self.const else [name for name in PASSES if name not in default]
        print(*names, sep="\n")
        parser.exit()


def _opset(text: str) -> int | str:
    return text if text == "latest" else int(text)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; exit with 1 if it fails or the comparison finds a difference."""
    args = _parser().parse_args(argv)
    try:
        passed = _run(args)
    except XonncError as error:
        print(f"onnxsim: {error}", file=sys.stderr)
        sys.exit(1)
    if not passed:
        print("onnxsim: check failed: outputs of the simplified model differ", file=sys.stderr)
        sys.exit(1)


def _run(args: argparse.Namespace) -> bool:
    limit = 0 if args.save_as_external_data else size_of(args.external_data_threshold)
    original = whole_model(load(args.input_model))
    with collecting() as applied:
        simplified, passed = _simplified(args, original)
    save(simplified, args.output_model, limit)
    print_simplifying_info(original, simplified)
    return _certify(applied) and passed if args.certify else passed


def _certify(applied: Ledger) -> bool:
    """Print the certificates of the rules that applied; return whether none is wrong."""
    # Not above: starting needs none of the generators of instances.
    from xonnc.compat.onnxsim.certificates import certify, report

    rules = certify(applied)
    print(report(rules))
    return not any(rule.is_wrong for rule in rules)


def _simplified(args: argparse.Namespace, original: onnx.ModelProto) -> tuple[onnx.ModelProto, bool]:
    shapes = (*args.input_shape, *args.overwrite_input_shape)
    skipped = [*(args.skip_optimization or ()), *args.skip_optimizer]
    providers = [*(["CUDAExecutionProvider"] if args.cuda else []), *(args.providers or ())]
    return simplify(
        original,
        check_n=args.check_n,
        perform_optimization=args.skip_optimization != [],
        skip_fuse_bn=args.skip_fuse_bn,
        overwrite_input_shapes=dict(map(_named_shape, shapes)),
        test_input_shapes=dict(map(_named_shape, args.test_input_shape)),
        skipped_optimizers=skipped,
        skip_constant_folding=args.skip_constant_folding,
        custom_lib=args.custom_lib,
        input_data=dict(_raw_data(original, text) for text in args.input_data_path),
        unused_output=args.unused_output,
        mutable_initializer=args.mutable_initializer,
        inline_functions=args.inline_functions,
        target_opset_version=args.target_opset,
        check_rtol=args.check_rtol,
        check_atol=args.check_atol,
        input_fill=args.input_fill,
        initializers_as_constants=not args.initializers_as_non_constants,
        extra_optimizers=args.enable_optimization,
        providers=providers,
        profile=args.profile,
        ort_profile=args.ort_profile,
        merge_ort_profile=args.merge_ort_profile,
    )


def _named_shape(text: str) -> tuple[str, list[int]]:
    """Parse `name:1,3,-1` or `1,3,-1`."""
    name, _, sizes = text.rpartition(":")
    try:
        return name, [int(size) for size in sizes.split(",")]
    except ValueError:
        raise XonncError(f"'{text}' is no shape such as x:1,3,224,224") from None


def _raw_data(model: onnx.ModelProto, text: str) -> tuple[str, AnyArray]:
    """Read the input that `name:file` names."""
    name, _, path = text.partition(":")
    info = next((each for each in model.graph.input if each.name == name), None)
    if info is None or not Path(path).is_file():
        raise XonncError(f"'{text}' names no input and file, as x:x.bin does")
    tensor = info.type.tensor_type
    data = np.fromfile(path, DTYPES[tensor.elem_type])
    return name, data.reshape([dim.dim_value if dim.dim_value else -1 for dim in tensor.shape.dim])
