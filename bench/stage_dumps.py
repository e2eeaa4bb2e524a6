"""
Whether the IR of every stage of the CPU compiler becomes the same code.

    python bench/stage_dumps.py [--models NAME|FILE …] [--variants f32 int8 dynamic]

Each model is compiled as it is, quantized to INT8 (QDQ, one seeded sample), and with the first dimension of
its inputs dynamic. `onnx-opt --cpu-pipeline` then takes the dump of each stage onwards, and
`--simplify-onnx --cpu-pipeline` the imported model; so does xDSL's own `xdsl-opt`, with `-p`. The IR in the
llvm dialect must be the text that `xonnc compile` dumped, character by character, after `onnx-opt` has read
and printed what `xdsl-opt` wrote, and both must read the same constants in each dump. Where LLVM 19's tools
are installed, `mlir-opt` and `mlir-translate --mlir-to-llvmir` must accept it. The object file that
`xonnc compile` makes of the last dump with weights must have the bytes of the model's.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from hashlib import sha256
from io import StringIO
from pathlib import Path

import onnx
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.universe import Universe
from xdsl.xdsl_opt_main import xDSLOptMain

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.latency.feeds import feeds_for
from bench.models import path_of
from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.errors import XonncError
from xonnc.garbage_collection import without_cycle_collection
from xonnc.quantizer import quantize
from xonnc.tools.driver import main as xonnc
from xonnc.tools.opt import run_opt
from xonnc.tools.translate import main as translate

MODELS = (
    *("mnist_cnn", "bert_tiny", "lstm", "resnet18", "mobilenet_v2"),
    *("unet", "light_squeezenet", "light_shufflenet", "light_inception_v1", "light_densenet121"),
)
VARIANTS = ("f32", "int8", "dynamic")
PROCESSOR = "avx512"
UPSTREAM = ("mlir-opt-19", "mlir-translate-19")
BATCHES = (2, 1)
"""
First dimension of inputs of a model whose operators have no code for any size: the first that it takes. Some
exporters write the batch into constants, so that there is no other one.
"""


@dataclass
class Outcome:
    """The stages of a model and the ones that became other code, with a reason."""

    name: str
    variant: str
    stages: int = 0
    wrong: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])

    def repeat(self, stage: str, other: str) -> None:
        """Count a stage whose dump is the same text as that of another one."""
        self.stages += 1
        if other in self.wrong:
            self.wrong[stage] = self.wrong[other]

    def row(self) -> str:
        """A row of the table."""
        same = self.stages - len(self.wrong)
        remarks = "; ".join([*self.notes, *(f"{stage}: {why}" for stage, why in self.wrong.items())])
        return f"| {self.name} | {self.variant} | {same} of {self.stages} | {remarks} |"


@dataclass
class ExpectedCode:
    """The code that every stage of a model becomes."""

    text: str
    """As `onnx-opt` prints it."""
    xdsl_text: str = ""
    """As `xdsl-opt` prints it, once it has."""

    def is_made_by_xdsl(self, stage: Path, pipeline: str) -> bool:
        """Whether xDSL's tool makes this code; it finds our passes by the entry point `xdsl.universe`."""
        out = StringIO()
        with redirect_stdout(out):
            xDSLOptMain(args=[str(stage), "-p", pipeline]).run()
        made = out.getvalue()
        if made == self.xdsl_text:
            return True
        if _code(["-"], made) != self.text:
            return False
        # The code of most other stages is printed the same, which is faster found than by reading it.
        self.xdsl_text = made
        return True


def main() -> int:
    """Compile the models, run every dump again, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--models", nargs="+", default=list(MODELS), metavar="NAME|FILE")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    options = parser.parse_args()
    print("| model | variant | stages with the same code | notes |\n|---|---|---|---|", flush=True)
    is_same = True
    for name in options.models:
        path = Path(name) if name.endswith(".onnx") else path_of(name)
        title = path.parent.name if name.endswith(".onnx") else name
        for variant in options.variants:
            found = measured(title, path, variant)
            is_same = is_same and not found.wrong
            print(found.row(), flush=True)
    return 0 if is_same else 1


def measured(name: str, path: Path, variant: str) -> Outcome:
    """Compile a variant of a model and run the dump of each stage again."""
    found = Outcome(name, variant)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        try:
            written = write_variant(path, variant, folder / "model.onnx")
            _check(written, folder, found)
        except (XonncError, ValueError) as error:
            found.stages += 1
            found.wrong["compile"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    return found


def write_variant(path: Path, variant: str, to: Path) -> Path:
    """Write the quantized model, or the one with a dynamic first dimension; return its path."""
    if variant == "f32":
        return path
    if variant == "int8":
        feeds = feeds_for(path)
        shapes = {name: array.shape for name, array in feeds.items()}
        try:
            quantized = quantize(path, [feeds], input_shapes=shapes)
        except XonncError:
            # Before opset 13 there are no scales per channel.
            quantized = quantize(path, [feeds], input_shapes=shapes, per_tensor=True)
        to.write_bytes(quantized.proto().SerializeToString())
        return to
    model = onnx.ModelProto.FromString(path.read_bytes())
    weights = {tensor.name for tensor in model.graph.initializer}
    for info in (*model.graph.input, *model.graph.output):
        if info.name not in weights and info.type.tensor_type.shape.dim:
            info.type.tensor_type.shape.dim[0].dim_param = "N"
    del model.graph.value_info[:]
    to.write_bytes(model.SerializeToString())
    return to


def _check(path: Path, folder: Path, found: Outcome) -> None:
    dump = folder / "dump"
    options = ["--dump", str(dump)]
    is_any_size = _is_compiled(path, folder / "m.o", *options)
    if not is_any_size:
        fixed = next(
            (n for n in BATCHES if _is_compiled(path, folder / "m.o", *_fixed_shapes(path, n), *options)),
            None,
        )
        if fixed is None:
            raise ValueError("xonnc compile fails")
        found.notes.append(f"fixed to {fixed}: no code for any size")
    _check_object(next(dump.glob("*-planned.mlir")), folder / "m.o", found)
    stages = sorted(dump.glob("[0-9][0-9]-*.mlir"))
    expected = ExpectedCode(_code([str(stages[-1])]))
    same: dict[bytes, str] = {}
    for stage in stages:
        # Stages that change nothing have dumps that are equal, and so is what they become.
        digest = sha256(stage.read_bytes()).digest()
        if digest in same:
            found.repeat(stage.stem, same[digest])
        else:
            same[digest] = stage.stem
            _check_stage(stage, [], expected, found)
        stage.unlink()
    if is_any_size:
        imported = folder / "imported.mlir"
        if translate([str(path), "-o", str(imported)]) != 0:
            raise ValueError("onnx-translate fails")
        _check_stage(imported, ["simplify-onnx"], expected, found)
    if all(map(shutil.which, UPSTREAM)):
        found.stages += 1
        found.wrong |= _upstream(expected.text, folder)


def _is_compiled(path: Path, output: Path, *options: str) -> bool:
    return xonnc(["compile", str(path), "-o", str(output), "--target", PROCESSOR, "-q", *options]) == 0


def _check_object(planned: Path, expected: Path, found: Outcome) -> None:
    """Compare the object file of the last stage that has weights with that of the model."""
    found.stages += 1
    folder = planned.parent / "again"
    folder.mkdir()
    # The file has its own name in it, and that of its weights.
    again = folder / expected.name
    if not _is_compiled(planned, again) or again.read_bytes() != expected.read_bytes():
        found.wrong["object file"] = f"other bytes of {planned.stem}"


def _check_stage(stage: Path, first: Sequence[str], expected: ExpectedCode, found: Outcome) -> None:
    """Compare what both tools make of a stage, by the passes `first` and the CPU pipeline."""
    found.stages += 1
    flags = [*(f"--{name}" for name in first), f"--cpu-pipeline=processor={PROCESSOR}"]
    pipeline = ",".join((*first, f"cpu-pipeline{{processor={PROCESSOR}}}"))
    # Either tool runs in a process of its own otherwise, which ends before cycles are collected.
    with without_cycle_collection():
        is_same = {
            "onnx-opt": _code([str(stage), *flags]) == expected.text,
            "xdsl-opt": expected.is_made_by_xdsl(stage, pipeline),
        }
        # The last stage is code and nothing else.
        is_alike = stage.stem.endswith("llvm") or is_read_alike(stage)
    if wrong := [tool for tool, same in is_same.items() if not same]:
        found.wrong[stage.stem] = f"other code by {' and '.join(wrong)}"
    elif not is_alike:
        found.wrong[stage.stem] = "xdsl-opt reads another module"


def is_read_alike(stage: Path) -> bool:
    """Whether xDSL's own parser reads the module that ours reads; code has no weights to tell by."""
    text = stage.read_text(encoding="utf-8")
    return _reprinted(OnnxParser, text) == _reprinted(Parser, text)


def _reprinted(parser: type[Parser], text: str) -> str:
    context, stream = Context(), StringIO()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    OnnxPrinter(stream=stream).print_op(parser(context, text).parse_module())
    return stream.getvalue()


def _fixed_shapes(path: Path, batch: int) -> list[str]:
    model = onnx.ModelProto.FromString(path.read_bytes())
    weights = {tensor.name for tensor in model.graph.initializer}
    sizes = {
        info.name: [dim.dim_value or batch for dim in info.type.tensor_type.shape.dim]
        for info in model.graph.input
        if info.name not in weights
    }
    return [f"--input-shape={name}:{','.join(map(str, shape))}" for name, shape in sizes.items()]


def _code(arguments: Sequence[str], stdin: str = "") -> str:
    code, text, errors = run_opt(arguments, stdin)
    if code != 0:
        raise ValueError(f"onnx-opt {Path(arguments[0]).name}: {errors.strip()}")
    return text


def _upstream(text: str, folder: Path) -> dict[str, str]:
    """Run LLVM's own tools on the IR in the llvm dialect; return the failures."""
    plain = folder / "plain.mlir"
    plain.write_text(text)
    wrong: dict[str, str] = {}
    for tool, flags in zip(UPSTREAM, ((), ("--mlir-to-llvmir",)), strict=True):
        run = subprocess.run(
            [tool, *flags, str(plain), "-o", "/dev/null"], capture_output=True, text=True, check=False
        )
        if run.returncode:
            wrong[tool] = (run.stderr.strip().splitlines() or [f"exit {run.returncode}"])[0][:200]
    return wrong


if __name__ == "__main__":
    sys.exit(main())
