"""`xonnc verify`: compare two forms of a model."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.tools.console import columns, plural, progress, row, wrote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xonnc.runtime.verification.comparison import Tolerance
    from xonnc.verifier import InputChoice, OutputComparison, Overflow, Verification

EPILOG = """engines of models: onnxruntime, onnxruntime-optimized, reference, simplified, native, O0 to O3,
  c (C source), nvdla (a loadable in the simulator)
profiles: normal, wide, zeros, negative, extremes, nan-inf, denormal, edge-shapes, or all"""


BISECTED = (None, "native", "simplified", "c", "nvdla")
"""Engines that bisection takes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.epilog = EPILOG
    parser.add_argument(
        "model",
        type=Path,
        help="a model (.onnx, .onnxtxt, .json), IR (.mlir), native code (.so, .c, or the folder of a saved "
        "session), a package (.xpkg) or a loadable (.nvdla)",
    )
    parser.add_argument(
        "other", type=Path, nargs="?", help="the other form (default: native code compiled from MODEL)"
    )
    parser.add_argument(
        "--engine", metavar="ENGINE", help="what runs MODEL (default: onnxruntime if installed)"
    )
    parser.add_argument("--other-engine", metavar="ENGINE", help="what runs the other one, likewise")
    parser.add_argument(
        "--simplify", action="store_true", help="compare with the simplified model; --other-engine simplified"
    )
    parser.add_argument(
        "--matrix", action="store_true", help="compare MODEL in all engines: -O0 to -O3, simplified, …"
    )
    parser.add_argument(
        "--layers", action="store_true", help="compare all intermediate values that both models have"
    )
    parser.add_argument(
        "--bisect",
        nargs="?",
        type=Path,
        const=Path("reproducer"),
        metavar="FOLDER",
        help="if outputs differ, find the pass and the rewrite that make it, and write a reduced model with "
        "its inputs and outputs to FOLDER (default: reproducer)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=30,
        help="time to reduce the model of --bisect (default: %(default)s)",
    )
    inputs = parser.add_argument_group("inputs")
    inputs.add_argument(
        "--profile",
        default="",
        metavar="P,Q",
        help="distributions of inputs (default: normal,negative,zeros,wide)",
    )
    inputs.add_argument(
        "-n", "--count", type=int, default=1, help="number of inputs of each profile (default: %(default)s)"
    )
    inputs.add_argument("--seed", type=int, default=0, help="seed of the inputs (default: %(default)s)")
    inputs.add_argument(
        "--inputs",
        type=Path,
        metavar="FOLDER",
        help="inputs in files: NAME.npy, NAME.pb or input_0.pb, or folders of these",
    )
    limits = parser.add_argument_group("tolerance")
    limits.add_argument(
        "--rtol",
        type=float,
        metavar="R",
        help="largest error, relative to the largest magnitude (default: 1024 epsilons, at most 0.02)",
    )
    limits.add_argument("--atol", type=float, default=0.0, metavar="A", help="error that is always allowed")
    limits.add_argument(
        "--cosine",
        type=float,
        metavar="C",
        help="least cosine similarity, instead (default for NVDLA: 0.999)",
    )
    parser.add_argument(
        "--target", help="the NVDLA configuration of a loadable, or the processor of native code"
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing, only set the exit code")


def run(args: argparse.Namespace) -> int:
    """Compare and report; exit code 1 if an output differs."""
    if args.simplify:
        args.other_engine = "simplified"
    if args.matrix and (args.other or args.layers or args.other_engine):
        raise XonncError("--matrix: compares MODEL with itself; leave out the other form and --layers")
    if args.matrix:
        return _matrix(args)
    if args.bisect and (args.other or args.layers or args.other_engine not in BISECTED):
        raise XonncError(
            "--bisect: is for MODEL and what is compiled from it: native code, or with --other-engine "
            f"{', '.join(each for each in BISECTED if each)}"
        )
    with progress(f"verifying {args.model.name}", args.quiet) as step:
        step(0, 1)
        found = _layers(args) if args.layers else _compared(args)
    if args.json:
        print(json.dumps(_as_json(found), indent=2))
    elif not args.quiet:
        _report(found, args.layers)
    if args.bisect and found.failing:
        _bisect(args, found)
    return 0 if found.passed else 1


def _bisect(args: argparse.Namespace, found: Verification) -> None:
    """Find what makes the first wrong result, reduce the model and write a reproducer."""
    from xonnc.formats.onnx.loaded_export import load_proto
    from xonnc.tools.bisection import bisect, reduced_case
    from xonnc.tools.bisection_case import Case
    from xonnc.tools.reproducer import write_reproducer

    feeds, engine = next(iter(found.failing.values())), args.other_engine or "native"
    case = Case(load_proto(args.model), feeds, _tolerance(args), engine, args.target, args.cosine)
    with progress(f"bisecting {args.model.name}", args.quiet) as step:
        culprit = bisect(case)
        if culprit is None:
            raise XonncError(f"{args.model}: the difference is within rounding; bisection needs a larger one")
        wrong = replace(case, form=culprit.form)
        smaller = reduced_case(wrong, args.seconds, lambda nodes: step(0, 1, f"{nodes} nodes"))
        files = write_reproducer(args.bisect, smaller, culprit, len(case.model.graph.node))
    if args.quiet or args.json:
        return
    row("pass", culprit.pass_name)
    row("decision", f"{culprit.what} on {culprit.node or 'the whole model'}, number {culprit.decisions}")
    row("reduced", f"{len(case.model.graph.node)} nodes to {len(smaller.model.graph.node)}")
    wrote(args.bisect, remark=f" ({len(files)} files)")


def _compared(args: argparse.Namespace) -> Verification:
    from xonnc.verifier import verify

    choice = _choice(args)
    return verify(
        args.model,
        args.other,
        engine=args.engine,
        other_engine=args.other_engine,
        profiles=choice.profiles,
        count=choice.count,
        seed=choice.seed,
        inputs=choice.folder,
        tolerance=_tolerance(args),
        min_cosine=args.cosine,
        target=args.target,
    )


def _layers(args: argparse.Namespace) -> Verification:
    from xonnc.verifier import verify_layers

    return verify_layers(args.model, args.other, _choice(args), _tolerance(args), args.other_engine)


def _matrix(args: argparse.Namespace) -> int:
    from xonnc.verifier import Verification, verify_matrix

    with progress(f"verifying {args.model.name}", args.quiet) as step:
        found = verify_matrix(args.model, _choice(args), _tolerance(args), lambda name: step(0, 1, name))
    if args.json:
        entries = {
            name: _as_json(one) if isinstance(one, Verification) else one for name, one in found.items()
        }
        print(json.dumps(entries, indent=2))
    elif not args.quiet:
        rows = [("engine", "output", "largest error", "inputs", "")]
        for name, one in found.items():
            if isinstance(one, str):
                rows.append((name, "", "", "", f"does not run: {one}"))
                continue
            rows += [(name, *_cells(worst)) for worst in one.worst().values()]
        print("\n".join(columns(rows)))
    # An engine that lacks an operator is no wrong answer.
    return 0 if all(isinstance(one, str) or one.passed for one in found.values()) else 1


def _choice(args: argparse.Namespace) -> InputChoice:
    from xonnc.runtime.verification.trial_inputs import PROFILES
    from xonnc.verifier import DEFAULT_PROFILES, InputChoice

    profiles = tuple(name for name in args.profile.split(",") if name)
    chosen = PROFILES if profiles == ("all",) else profiles or DEFAULT_PROFILES
    return InputChoice(chosen, args.count, args.seed, args.inputs)


def _tolerance(args: argparse.Namespace) -> Tolerance:
    from xonnc.runtime.verification.comparison import Tolerance

    for option in ("rtol", "atol"):
        value = getattr(args, option)
        if value is not None and not (value >= 0 and isfinite(value)):
            raise XonncError(f"--{option} {value}: a number of at least 0")
    return Tolerance(args.rtol, args.atol)


def _report(found: Verification, layers: bool) -> None:
    from xonnc.verifier import first_wrong

    row("first", found.first)
    row("second", found.second)
    for name, reason in found.skipped.items():
        row("skipped", f"{name}: {reason}")
    if layers:
        rows = [("value", "SNR", "cosine", "largest error", "inputs", "")]
        rows += [
            (one.output, f"{one.comparison.snr:.1f} dB", f"{one.comparison.cosine:.6f}", *_cells(one)[1:])
            for one in found.worst().values()
        ]
        print("\n".join(f"  {line}" for line in columns(rows)))
        wrong = first_wrong(found)
        if wrong is not None:
            row("first wrong", f"{wrong.output} on {wrong.inputs}")
    else:
        rows = [("output", "largest error", "inputs", "")]
        rows += [_cells(one) for one in _shown(found)]
        print("\n".join(f"  {line}" for line in columns(rows)))
    for name, overflow in found.overflows.items():
        row("hint", f"{_hint(overflow)} (on {name})")
    wrong = sum(not one.passed for one in found.outputs)
    inputs = plural(len({one.inputs for one in found.outputs}), "input")
    if not found.outputs:
        row("result", "NOT COMPARED: the first model takes none of the inputs")
    else:
        row(
            "result",
            f"{plural(wrong, 'comparison')} of {len(found.outputs)} DIFFER"
            if wrong
            else f"agree on {inputs}",
        )


def _hint(overflow: Overflow) -> str:
    return (
        f"{overflow.value} reaches {overflow.largest:.3g}, beyond float16's range (65504): calibrate for "
        "INT8, by 'xonnc compile --calibrate'"
    )


def _shown(found: Verification) -> Sequence[OutputComparison]:
    """The worst comparison of each output, and all that differ."""
    worst = set(map(id, found.worst().values()))
    return [one for one in found.outputs if id(one) in worst or not one.passed]


def _cells(one: OutputComparison) -> tuple[str, str, str, str]:
    made = one.comparison
    if one.min_cosine is not None:
        limit = f"cosine {made.cosine:.6f}, at least {one.min_cosine}"
    else:
        limit = f"{made.relative_error:.1e} of {made.allowed:.1e} allowed"
    verdict = "agrees" if one.passed else f"DIFFERS: {made.mismatch}" if made.mismatch else "DIFFERS"
    return one.output, limit, one.inputs, verdict


def _as_json(found: Verification) -> dict[str, object]:
    return {
        "first": found.first,
        "second": found.second,
        "passed": found.passed,
        "skipped": dict(found.skipped),
        "hints": {name: _hint(overflow) for name, overflow in found.overflows.items()},
        "outputs": [
            {
                "output": one.output,
                "inputs": one.inputs,
                "passed": one.passed,
                "mismatch": one.comparison.mismatch,
                **{
                    name: value if isfinite(value) else None
                    for name, value in (
                        ("largest_error", one.comparison.largest_error),
                        ("relative_error", one.comparison.relative_error),
                        ("allowed", one.comparison.allowed),
                        ("cosine", one.comparison.cosine),
                        ("snr", one.comparison.snr),
                    )
                },
            }
            for one in found.outputs
        ],
    }
