"""All benchmarks, one after the other: `python bench/run.py [NAME …]`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent

BENCHMARKS = {
    "importer": "importing against onnx.load: time and memory",
    "folding_memory": "memory of constant folding, under onnx-opt and xdsl-opt",
    "rewrite_driver": "cost of a rewrite per op as models grow",
    "folding": "coverage of constant folding on the node tests of the onnx package",
    "shapes": "inferred shapes against those of the onnx package",
    "simplify": "simplifying models against its peers: time, memory and nodes left",
    "nvdla_vectors": "the simulator on the golden vectors",
    "nvdla_light": "light models of the onnx package on nv_full against onnxruntime",
    "nvdla_cycles": "ResNet-50 by the cycle model beside the published figures",
    "nvdla_memory": "activation memory of twelve networks against its lower bound",
    "nvdla_sweep": "random layers and networks against exact integers",
    "nvdla_single_layers": "three cases of each layer in each configuration against exact integers",
    "nvdla_networks": "twelve networks in four configurations against onnxruntime and exact integers",
    "packages": "partitioning of each model between DLA and CPU",
    "kernels": "kernels of native code against onnxruntime's",
    "cpu": "native code against onnxruntime: latency, compile time and memory",
    "arena": "memory growth of inference: native code against onnxruntime",
    "stage_dumps": "the dump of every stage of ten networks becomes the same code",
    "aot": "ahead-of-time libraries and C source, run from C: sizes, latency and outputs",
    "corrupted_files": "corrupted files of every format end with clean errors",
    "backend": "the onnx package's node tests in native code",
}


def main() -> int:
    """Run the named benchmarks, or all; exit 1 if one fails."""
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    failed: list[str] = []
    for name in names:
        print(f"== {name}: {BENCHMARKS[name]}", flush=True)
        if subprocess.run([sys.executable, str(FOLDER / f"{name}.py")]).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
