"""`xonnc simplify`: simplify an ONNX model without changing its outputs."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.tools.commands import pass_options
from xonnc.tools.console import plural, progress, quantity, row, size, wrote
from xonnc.tools.files import STDOUT, require_output
from xonnc.tools.model_output import add_output_file, require_given_output
from xonnc.tools.peer_flags import Tool
from xonnc.tools.signature_options import signature_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xonnc.formats.onnx.model_summary import ModelSummary
    from xonnc.simplifier import SimplifiedModel
    from xonnc.tools.equivalence import Difference

PEER_TOOL: Tool = "xonnc simplify"
"""The command in the table of onnx-mlir's options."""

OWN_FLAGS = pass_options.OWN_FLAGS
"""Options of this command that onnx-mlir has as well."""

VALUE_AFTER_EQUALS = ("--external-data",)
"""Options with an optional value, which is only accepted after `=`."""

MAX_SHOWN_INPUTS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.epilog = "Of onnx-mlir's options, --shapeInformation and --dimParams are taken too."
    parser.add_argument("model", type=Path, help="the model: .onnx, .onnxtxt or .json")
    add_output_file(parser, "the simplified model, in the format of its suffix")
    parser.add_argument(
        "--check",
        type=int,
        default=0,
        metavar="N",
        help="compare with the original in onnxruntime on N inputs; write nothing if outputs differ",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of these inputs (default: %(default)s)")
    parser.add_argument(
        "--external-data",
        nargs="?",
        metavar="FILE",
        help="write weights to FILE beside the model (default: OUTPUT.data); default if the model has it",
    )
    parser.add_argument(
        "--overwrite-input-shape",
        type=named_shape,
        action="append",
        default=[],
        metavar="NAME:1,3,224,224",
        help="new shape of an input, -1 for a dynamic dimension; may be repeated",
    )
    parser.add_argument("--inline-functions", action="store_true", help="inline the model's local functions")
    parser.add_argument(
        "--fold-overridable",
        action="store_true",
        help="make constants of inputs that have an initializer; else they stay inputs with a default",
    )
    parser.add_argument(
        "--strict", action="store_true", help="refuse declared shapes that contradict the operators"
    )
    pass_options.add_arguments(parser.add_argument)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def named_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """`name:1,3,224,224`; the name may have colons in it."""
    name, colon, sizes = text.rpartition(":")
    try:
        shape = tuple(int(size) for size in sizes.split(",")) if sizes else ()
    except ValueError:
        shape = (-2,)
    if not name or not colon or any(not -1 <= size < 1 << 63 for size in shape):
        raise argparse.ArgumentTypeError(f"'{text}' must have the form NAME:SIZES, such as x:1,3,-1")
    return name, shape


def run(args: argparse.Namespace) -> int:
    """Simplify, compare, write and report; exit code 1 if outputs differ."""
    from xonnc.formats.onnx.save_model import ExternalData
    from xonnc.simplifier import simplify

    require_given_output(args)
    if args.check < 0:
        raise XonncError(f"--check {args.check}: a number of inputs, 0 for no check")
    if args.check and args.model.suffix != ".onnx":
        raise XonncError(f"{args.model}: onnxruntime opens binary models; call it .onnx to --check it")
    if args.output != STDOUT:
        require_output(args.output, (".onnx", ".onnxtxt", ".onnxtext", ".json"), args.model)
    elif args.json:
        raise XonncError("--json: the model is written to standard output; give a file name for it")
    external = None
    if args.external_data is not None:
        external = ExternalData(args.external_data or f"{args.output.name}.data")
    with progress(f"simplifying {args.model.name}", args.quiet) as step:
        step(0, 2, "simplifying")
        simplified = simplify(
            args.model,
            input_shapes=dict(args.overwrite_input_shape),
            inline_functions=args.inline_functions,
            signature=signature_of(args.peer),
            fold_overridable=args.fold_overridable,
            strict=args.strict,
            **pass_options.choice(args),
        )
        step(1, 2, "checking")
        differences = _check(args, simplified) if args.check else []
    passed = all(one.passed for one in differences)
    written = simplified.write(args.output, external) if passed else []
    if args.json:
        print(json.dumps(_as_json(args.model, simplified, differences, written), indent=2))
    elif args.output != STDOUT and not args.quiet:
        _report(args, simplified, differences)
        for path in written:
            wrote(path, path.stat().st_size)
    if not passed:
        wrong = next(one for one in differences if not one.passed)
        raise XonncError(
            f"{args.model}: output '{wrong.output}' of the simplified model differs: {_how(wrong)}; "
            "nothing written, please report it with the model"
        )
    return 0


def _check(args: argparse.Namespace, simplified: SimplifiedModel) -> list[Difference]:
    from xonnc.tools.equivalence import compare_models

    with TemporaryDirectory(prefix="xonnc-") as folder:
        path = Path(folder) / "simplified.onnx"
        simplified.write(path)
        return compare_models(args.model, path, args.check, args.seed)


def _report(args: argparse.Namespace, simplified: SimplifiedModel, differences: Sequence[Difference]) -> None:
    before, after = simplified.before, simplified.after
    print(f"{args.model.name}   {before.nodes} nodes, {quantity(before.parameters)} parameters")
    for line in table(before, after):
        print(f"  {line}")
    if simplified.overridable:
        names = ", ".join(simplified.overridable[:MAX_SHOWN_INPUTS])
        more = ", …" if len(simplified.overridable) > MAX_SHOWN_INPUTS else ""
        row("inputs kept", f"{names}{more}: initializers that may be given; --fold-overridable folds them")
    for one in differences:
        verdict = "is random" if one.is_random else "agrees" if one.passed else "DIFFERS"
        row("check", f"{one.output} {verdict} on {plural(args.check, 'input')}: {_how(one)}")


def table(before: ModelSummary, after: ModelSummary) -> list[str]:
    """The operators of a model before and after, a line for each."""
    names = sorted(before.operators.keys() | after.operators.keys())
    names.sort(key=lambda name: -max(before.operators.get(name, 0), after.operators.get(name, 0)))
    rows = [
        *(
            (name, f"{before.operators.get(name, 0)}", f"{after.operators.get(name, 0)}", changed)
            for name in names
            for changed in ["" if before.operators.get(name) == after.operators.get(name) else "*"]
        ),
        ("nodes", str(before.nodes), str(after.nodes), ""),
        ("parameters", quantity(before.parameters), quantity(after.parameters), ""),
        ("in bytes", size(before.bytes), size(after.bytes), ""),
    ]
    width = max(len(name) for name, *_ in rows)
    return [
        f"{name:<{width}} {first:>10} {second:>10} {mark}".rstrip()
        for name, first, second, mark in [("", "before", "after", ""), *rows]
    ]


def _how(difference: Difference) -> str:
    if difference.is_random:
        return "two runs of the original differ"
    error = f"largest error {difference.largest_error:.1e} of the largest value"
    return difference.mismatch or error


def _as_json(
    model: Path, simplified: SimplifiedModel, differences: Sequence[Difference], written: Sequence[Path]
) -> dict[str, object]:
    return {
        "model": str(model),
        "files": [str(path) for path in written],
        "before": asdict(simplified.before) | {"nodes": simplified.before.nodes},
        "after": asdict(simplified.after) | {"nodes": simplified.after.nodes},
        "check": [asdict(one) | {"passed": one.passed} for one in differences],
    }
