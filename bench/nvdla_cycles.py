"""
ResNet-50 by the cycle model beside NVDLA's published figures: `python bench/nvdla_cycles.py [--write]`

Each configuration is compiled at the DRAM bandwidth of its published figure. `--write` writes the table to
`docs/nvdla-performance.md`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from xdsl.dialects.builtin import ModuleOp

from bench.models import path_of
from bench.nvdla_layers import table as layer_table
from xonnc.calibration import calibrate_module, input_shapes
from xonnc.compiler import Compilation, compile_model
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import name_values
from xonnc.targets import load_target

PAGE = Path(__file__).resolve().parent.parent / "docs" / "nvdla-performance.md"


@dataclass(frozen=True)
class CycleCase:
    """A configuration with its published bandwidth and throughput (NVDLA primer, performance table)."""

    target: str
    precision: str
    dram_gb_per_s: float
    published: float | None


CASES = (
    CycleCase("nv_full", "FP16", 20, None),
    CycleCase("nv_full", "INT8", 20, 269),
    CycleCase("nv_large", "INT8", 20, 269),
    CycleCase("nv_medium_1024_full", "INT8", 15, 153),
    CycleCase("nv_medium_512", "INT8", 10, 93),
    CycleCase("nv_small_256", "INT8", 5, 46),
    CycleCase("nv_small", "INT8", 1, 7.3),
)

COLUMNS = (
    "target",
    "precision",
    "GB/s",
    "published /s",
    "ours /s",
    "ms",
    "M cycles",
    "if memory were free",
    "MACs used",
    "MB moved",
    "compulsory MB",
    "weights, in, out MB",
    "hardware operations",
    "one conv + one SDP each",
)


CVSRAM_NETWORKS = ("resnet50", "resnet18", "mobilenet_v2", "light_squeezenet", "light_densenet121")


BATCH_NETWORKS = ("light_resnet50", "light_vgg19")


class RandomRanges:
    """Ranges of a model for one random input, measured once."""

    def __init__(self):
        self._known: list[Ranges] = []

    def __call__(self, module: ModuleOp) -> Ranges:
        name_values(module)
        if not self._known:
            random = np.random.default_rng(0)
            shapes = input_shapes(module)
            sample = {
                name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
            }
            self._known.append(calibrate_module(module, [sample]))
        return self._known[0]


def main() -> int:
    """Print the table, and write the page with `--write`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet50", help="of bench/models.py (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args()
    rows = [COLUMNS, *measure(path_of(args.model))]
    table = [f"| {' | '.join(row)} |" for row in rows]
    table.insert(1, f"|{'---|' * len(COLUMNS)}")
    print("\n".join(table))
    if args.write:
        tables = (table, batch_table(), cvsram_table(), layer_table())
        PAGE.write_text(page(*("\n".join(each) for each in tables)))
    return 0


def measure(model: Path) -> list[tuple[str, ...]]:
    """Table cells of each case."""
    calibrate = RandomRanges()
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            target = write_target(case, Path(folder))
            quantized = calibrate if case.precision == "INT8" else None
            rows.append(cells(case, compile_model(model, str(target), calibrate=quantized)))
    return rows


def batch_table() -> list[str]:
    """Lines of the table of networks with several images in one run."""
    counts = (1, 2, 4)
    rows = [f"| network | target | precision | {' | '.join(map(str, counts))} |", f"|{'---|' * 6}"]
    for name in BATCH_NETWORKS:
        for target, precision in (("nv_small", "INT8"), ("nv_full", "INT8"), ("nv_full", "FP16")):
            calibrate = RandomRanges() if precision == "INT8" else None
            cells: list[str] = []
            for count in counts:
                found = compile_model(path_of(name), target, calibrate=calibrate, batch=count).report
                cells.append(f"{found.cycles / count / 1e6:.2f}")
            rows.append(f"| {' | '.join((name, target, precision, *cells))} |")
    return rows


def cvsram_table() -> list[str]:
    """Lines of the table of networks with and without on-chip memory."""
    rows = ["| network | precision | nv_full | nv_full_cvsram | | MB moved | on the chip |", f"|{'---|' * 7}"]
    for name in CVSRAM_NETWORKS:
        for precision in ("FP16", "INT8"):
            calibrate = RandomRanges() if precision == "INT8" else None
            alone, beside = (
                compile_model(path_of(name), target, calibrate=calibrate).report.performance
                for target in ("nv_full", "nv_full_cvsram")
            )
            numbers = [f"{alone.cycles / 1e6:.2f}", f"{beside.cycles / 1e6:.2f}"]
            gain = f"{beside.cycles / alone.cycles - 1:.0%}"
            moved = [f"{beside.traffic_bytes / 1e6:.1f}", f"{beside.on_chip_bytes / 1e6:.1f}"]
            rows.append(f"| {' | '.join((name, precision, *numbers, gain, *moved))} |")
    return rows


def write_target(case: CycleCase, folder: Path, **changes: object) -> Path:
    """Write the target with the bandwidth of the case, and other `changes`, to a TOML file."""
    table = asdict(load_target(case.target)) | {"dram_gb_per_s": case.dram_gb_per_s, **changes}
    path = folder / f"{case.target}.toml"
    names = ", ".join(f'"{each}"' for each in load_target(case.target).precisions)
    lines = [f"{key} = {_toml(value)}" for key, value in table.items() if key != "precisions"]
    lines.append(f"precisions = [{names}]")
    path.write_text("\n".join(lines))
    return path


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case int() | float():
            return str(value)
        case _:
            raise AssertionError(f"a target has no {type(value).__name__}")


def cells(case: CycleCase, compilation: Compilation) -> tuple[str, ...]:
    """Table cells of one case."""
    report = compilation.report
    cost = report.performance
    compute = sum(layer.compute_cycles for layer in cost.layers)
    operators = compilation.simplified.operators
    convolutions = sum(operators.get(name, 0) for name in ("Conv", "Gemm", "MatMul"))
    pattern = {"CONV": convolutions, "SDP": convolutions} | {
        name: count for name, count in report.layers_by_engine.items() if name in ("PDP", "EMU", "CDP")
    }
    return (
        case.target,
        case.precision,
        f"{case.dram_gb_per_s:g}",
        "–" if case.published is None else f"{case.published:g}",
        f"{1000 / cost.milliseconds:.1f}",
        f"{cost.milliseconds:.2f}",
        f"{cost.cycles / 1e6:.2f}",
        f"{compute / 1e6:.2f}",
        f"{cost.utilisation:.1%}",
        f"{cost.traffic_bytes / 1e6:.1f}",
        f"{cost.compulsory_bytes / 1e6:.1f}",
        f"{cost.boundary_bytes / 1e6:.1f}",
        _engines(report.layers_by_engine),
        _engines(pattern),
    )


def _engines(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def page(table: str, batch: str, cvsram: str, layers: str) -> str:
    """`docs/nvdla-performance.md`."""
    return f"""# ResNet-50 by the cycle model

Written by `python bench/nvdla_cycles.py --write`: ResNet-50 of `bench/models.py` (224x224, batch 1, 1 GHz, no
second memory), compiled at the bandwidth of the published row. `xonnc report` prints the same for any model.
The rules of the model were measured on the RTL of nv_small ([below](#layers)); the other configurations are
an extrapolation by their own atoms, accumulators and interfaces. The firmware's time is not counted.

{table}

"If memory were free" is the sum over layers of the multiplications, or of the elements of another engine.
"Compulsory" traffic is what is moved if each layer reads every byte that it needs once, with the pieces of
a split convolution counted as one layer. "One conv + one SDP each" is the pattern of NVIDIA's compiler:
each convolution of the model once, not split, followed by one SDP pass.

In INT8 the global average pooling after the last convolution is computed by convolutions with ones, each for
the channels of one or a few atoms. Their sums are exact, while the PDP would round to its source's scale,
which is several times coarser than that of the result.

The published inferences a second ([NVDLA primer](https://nvdla.org/primer.html)) come from a spreadsheet
with other assumptions ([§8.1](internals/nvdla-hardware.md#s8.1)). In its favour: it divides 3×3
convolutions by 2.25, as if all were Winograd, and lets 16 images share the weights of the last layer. It
counts no pipeline fill and no memory latency. Against it: it rounds kernels up to 128, and where neither
data nor weights fit the buffer it reads one of them repeatedly, where the plans here split along the
height. The first effect weighs more with many multipliers, the second with few multipliers and a small
buffer. The estimate here follows the sequencers: stripes of positions, one cell of weights loaded per
cycle, whole atoms, rows read twice at splits, loads before multiplications, stalls for lack of
slots in the accumulator ([§9.4](internals/nvdla-hardware.md#s9.4)). No figure was published for FP16.

## Layers beside each other

Before 2026-11-23 each convolution was planned by itself, and a layer was taken to last as long as the slower
of its multiplications and its transfers. By the model of today, in million cycles:

| target | those plans | all convolutions planned together | |
|---|---|---|---|
| nv_full, FP16 | 9.55 | 8.78 | -8 % |
| nv_full | 5.11 | 4.46 | -13 % |
| nv_large | 5.22 | 4.50 | -14 % |
| nv_medium_1024_full | 7.54 | 6.39 | -15 % |
| nv_medium_512 | 13.62 | 11.82 | -13 % |
| nv_small_256 | 33.13 | 29.16 | -12 % |
| nv_small | 99.82 (100.01 on the RTL) | 84.65 | -15 % |

Winograd's algorithm ([which layers](nvdla.md#winograd-convolutions)) takes nv_full in FP16 from 8.78 to
8.47, 11 % below those plans. It computes 11 of the 13 3×3 convolutions without strides, whose multiplications
were 1.5 of 6.47 million cycles; all together are 5.86 now. The other two, of 512 channels, are bound by
their weights.

Of these cycles 68 to 86 % were multiplications, stalls of the accumulator and elements of other engines,
which no order of layers shortens. What each step gains on nv_small:

| step | million cycles |
|---|---|
| plans of single convolutions by the model | 98.2 |
| tiles of half the buffer and less, one bank split for layers in a row | 91.7 |
| 1x1 convolutions with strides load only the rows they read: half the data, and weights once | 87.5 |
| tiles that take as many rows as fit, with banks for two kernel groups (3x3/2 of 512 channels) | 86.2 |
| weights of the global average stored and loaded once | 85.4 |
| the first pooling in tiles, beside the first convolution | 84.7 |

## <a id="batch"></a>Several images in one run

Million cycles of an image, with 1, 2 and 4 images in one run ([how](nvdla.md#batches)), at the bandwidth of
the target (nv_small 1 GB/s, nv_full 10 GB/s). What is gained are the weights of fully connected and pointwise
layers, which are loaded once, and loads of one image while another computes (2026-11-29).

{batch}

## <a id="cvsram"></a>On-chip memory

Activations in 512 KiB of on-chip memory at 25 GB/s, beside DRAM at 10 GB/s
([how](nvdla.md#on-chip-memory)), in million cycles. The model takes the two memories to move bytes one after
the other and with DRAM's latency. The figures are extrapolated, not measured (2026-11-23, f5a24f95).

{cvsram}

## <a id="layers"></a>Model against measurement

INT8 layers on the RTL of nv_small under Verilator (`bench/nvdla_layers.toml`), with a fast memory (latency
of 10 cycles, 8 bytes a cycle) and a slow one (64, 1 byte a cycle; 1 GB/s at 1 GHz). Convolutions have a ReLU
after them. Whole networks with the slow memory, as they were planned when they were measured:
ResNet-50 at 224x224 100,007,061 cycles, by the model 99,815,499; a bottleneck of it at 56x56 5,476,915, by
the model 5,486,631.

{layers}
"""


if __name__ == "__main__":
    sys.exit(main())
