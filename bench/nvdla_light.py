"""
Light models of the onnx package, with seeded weights of the real size, compiled for nv_full, checked,
simulated and compared with onnxruntime. `python bench/nvdla_light.py [NAME …] [-n 10]`
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from xonnc.compiler import compile_model
from xonnc.formats.nvdla.checks.loadable_check import check_loadable
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.onnx.light_models import light_model
from xonnc.targets import load_target
from xonnc.tools.commands.check import add_arguments, agree
from xonnc.tools.console import progress

NAMES = ("squeezenet", "resnet50", "vgg19", "inception_v2")

HEADER = (
    "model          nodes  compile s  loadable MB  activations MB (bound)  problems  "
    "check s  cosine      top-1   clear top-1"
)


def main() -> int:
    """Print a row for each network; exit 1 if one disagrees or its loadable has problems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("-n", "--inputs", type=int, default=10)
    parser.add_argument("--target", default="nv_full")
    parser.add_argument("--mode", default="fast", choices=("fast", "exact"))
    args = parser.parse_args()
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        passed = [measure(Path(folder), name, args) for name in args.names]
    print(f"peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return 0 if all(passed) else 1


def measure(folder: Path, name: str, args: argparse.Namespace) -> bool:
    """Compile, check and compare one network; print its row."""
    model, loadable = folder / f"{name}.onnx", folder / f"{name}.nvdla"
    model.write_bytes(light_model(name).SerializeToString())
    begun = time.perf_counter()
    compilation = compile_model(model, args.target)
    written = compilation.write(loadable)
    compiled = time.perf_counter()
    problems = check_loadable(read_loadable(loadable), load_target(args.target))
    begun_check = time.perf_counter()
    with progress(f"checking {name}") as step:
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        options = ["--target", args.target, "--mode", args.mode, "-n", str(args.inputs)]
        ((one,), _) = agree(parser.parse_args([str(model), str(loadable), *options]), step)
    checked = time.perf_counter()
    report = compilation.report
    print(
        f"{name:<13} {compilation.imported.nodes:>6} {compiled - begun:>10.2f} {written / 1e6:>12.1f} "
        f"{report.activation_bytes / 1e6:>15.2f} ({report.activation_lower_bound / 1e6:.2f}) "
        f"{len(problems):>9} {checked - begun_check:>8.1f}  {one.cosine:.6f} "
        f"{one.same_top:>4}/{args.inputs} {one.same_clear_top:>6}/{one.clear_top}"
    )
    for problem in problems[:5]:
        print(f"  {problem}")
    model.unlink()
    loadable.unlink()
    return one.passed and not problems


if __name__ == "__main__":
    sys.exit(main())
