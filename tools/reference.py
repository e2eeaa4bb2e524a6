"""The reference pages of `docs`, written from the code: `python -m xonnc.tools.reference`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import cast

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.registry import op_classes
from xonnc.formats.nvdla.checks.catalogue import RULES, WARNINGS
from xonnc.formats.nvdla.constants import Precision
from xonnc.formats.nvdla.geometry import pdp_line_width
from xonnc.formats.onnx.function_bodies import has_function_body
from xonnc.formats.onnx.op_versions import identity_of_class
from xonnc.formats.onnx.schemas import newest_opset
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import LOWERINGS_BY_PRECISION
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import DATA_MOVEMENT, ELEMENTWISE, LOWERINGS
from xonnc.lowering.onnx_to_krnl.lowering_builder import SUPPORTS_DYNAMIC_SHAPES
from xonnc.runtime.native.string_operators import IMPLEMENTATIONS, PREPARED_IMPLEMENTATIONS
from xonnc.targets import NvdlaTarget, limits, load_target, target_names
from xonnc.targets.cores import core_names, load_core
from xonnc.targets.cpu import cpu_names, load_cpu
from xonnc.tools.pass_reference import optimization_levels_page, passes_page
from xonnc.tools.peer_flags import PEER_FLAGS, spelled
from xonnc.tools.refusals import refusals
from xonnc.transforms.models.standard_functions import OWN

BY_SESSION = "strings, maps; by the session"
"""What operators without kernels take that the session does."""

ROOT = Path(__file__).resolve().parents[1]


def pages() -> Mapping[str, str]:
    """The generated pages by their file name in `docs`."""
    return {
        "native-operators.md": _native_operators(),
        "nvdla-checks.md": _nvdla_checks(),
        "nvdla-limits.md": _nvdla_limits(),
        "nvdla-operators.md": _nvdla_operators(),
        "nvdla-refusals.md": _nvdla_refusals(),
        "optimization-levels.md": optimization_levels_page(),
        "passes.md": passes_page(),
        "peer-flags.md": _peer_flags(),
        "targets.md": _targets(),
    }


def write() -> None:
    """Writes the pages."""
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text)


def operators() -> Mapping[str, tuple[str, ...]]:
    """The ops of the dialect for each ONNX operator, newest first, in alphabetical order."""
    found: dict[str, tuple[str, ...]] = {}
    for op in op_classes():
        if identity := identity_of_class(op):
            found[identity.op_type] = (*found.get(identity.op_type, ()), op.name)
    return dict(sorted(found.items()))


def dla_operators(precision: str) -> Mapping[str, str]:
    """How the DLA runs each ONNX operator it takes in `fp16` or `int8`, in alphabetical order."""
    found: dict[str, str] = {}
    for op, function in LOWERINGS_BY_PRECISION[precision].items():
        if identity := identity_of_class(op):
            found[identity.op_type] = " ".join((function.__doc__ or "").split())
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class NativeOperator:
    """How native code runs an operator, and of which elements."""

    how: str
    elements: str
    supports_dynamic_shapes: bool
    """Whether kernels may have sizes that only a run tells."""


def native_operators() -> Mapping[str, NativeOperator]:
    """How native code runs each ONNX operator that it takes, in alphabetical order."""
    found: dict[str, NativeOperator] = {}
    for op, function in {**LOWERINGS, **ELEMENTWISE}.items():
        identity = identity_of_class(op) if issubclass(op, OnnxOp) else None
        if identity is not None and identity.op_type not in found:
            text = " ".join((function.__doc__ or "").split()) or "A function of numbers."
            elements = "any but strings" if op in DATA_MOVEMENT else "numbers"
            supports_dynamic_shapes = op in SUPPORTS_DYNAMIC_SHAPES or op in ELEMENTWISE
            found[identity.op_type] = NativeOperator(text, elements, supports_dynamic_shapes)
    for name in operators():
        if name not in found and has_function_body("", name, newest_opset("") or 1):
            text = "Written out by the function that ONNX defines it by."
            found[name] = NativeOperator(text, "as in that", False)
    found |= {name: NativeOperator(text, "as in that", False) for name, text in OWN.items()}
    for name, step in (*IMPLEMENTATIONS.items(), *PREPARED_IMPLEMENTATIONS.items()):
        if name not in found and name in operators():
            text = " ".join((step.__doc__ or "").split())
            found[name] = NativeOperator(text, BY_SESSION, False)
    return dict(sorted(found.items()))


def _native_operators() -> str:
    rows = native_operators()
    kernels = sum(each.elements not in ("as in that", BY_SESSION) for each in rows.values())
    written = sum(each.elements == "as in that" for each in rows.values())
    lines = [
        "# Operators in native code",
        "",
        "Written by `python -m xonnc.tools.reference` from the lowering functions. Every other operator, and",
        "a form of these that is not lowered, is a call of the ONNX reference evaluator on the host;",
        "`Session.report()` names it and tells why. Numbers are truth values, integers of 2 to 64 bits, f16,",
        "f32, f64, bf16 and the smaller floats; what has 16 bits or less is computed in f32 and rounded.",
        "",
        "Sizes that a model leaves open only a run tells; where an operator has no kernel for that, or not",
        "in this form, the model is compiled for each set of sizes that it is fed, as it is for axes, pads",
        "and sizes that are fed as numbers.",
        "Indices out of range end a run with one line that names node, index and axis; nothing is read or",
        "written out of place. So does another number of elements than the model says (`Range`, `Compress`);",
        "where it says none, results have as many elements as are found.",
        "",
        "Strings and maps have no native code. The session computes them with Python and numpy, and moves",
        "strings by whatever operator moves elements; LabelEncoder, OneHotEncoder, TfIdfVectorizer and the",
        "classifiers of ai.onnx.ml take strings too.",
        "",
        "Random numbers are of the Mersenne Twister of numpy's `RandomState`: a seed gives those of the",
        "reference for `RandomUniform`, `Bernoulli` and `Dropout`, and the same ones in each run for all.",
        "Without a seed each run draws others.",
        "",
        f"{kernels} operators have kernels, {written} more are written out by others.",
        "",
        "| operator | runs as | elements | open sizes |",
        "|---|---|---|---|",
    ]
    for name, row in rows.items():
        how = row.how.replace("|", "\\|")
        dynamic = "yes" if row.supports_dynamic_shapes else ""
        lines.append(f"| `{name}` | {how} | {row.elements} | {dynamic} |")
    return "\n".join(lines) + "\n"


def _nvdla_checks() -> str:
    lines = [
        "# What is checked in a loadable",
        "",
        "Written by `python -m xonnc.tools.reference` from the rules themselves. `xonnc inspect` applies",
        "them to any loadable, `xonnc compile` to every one it makes. A finding ends with the rule's name",
        "in brackets.",
        "",
        "| rule | says |",
        "|---|---|",
        *(f"| `{name}` | {' '.join(text.split())} |" for name, text in sorted(RULES.items())),
        "",
        "## Warnings",
        "",
        "What runs, but not everywhere or not always; the exit code stays 0.",
        "",
        "| rule | says |",
        "|---|---|",
        *(f"| `{name}` | {' '.join(text.split())} |" for name, text in sorted(WARNINGS.items())),
    ]
    return "\n".join(lines) + "\n"


def limit_rows(target: NvdlaTarget) -> list[tuple[str, str]]:
    """What a target takes, by name: its precisions, register fields, what it lacks, its buffers."""
    rows = [("precision", ", ".join(target.precisions))]
    rows += [(f"{limit.what}, {limit.engine}", f"{limit.least} to {limit.most}") for limit in limits.LIMITS]
    rows.append(("LRN size", ", ".join(map(str, limits.LRN_SIZES))))
    for name, feature in limits.FEATURES.items():
        rows.append((feature.what, _has(limits.lacks(target, name))))
    rows.append(("softmax in the CPU emulator", _has(limits.lacks_emulator(target))))
    rows.append(("images at once", str(target.batch)))
    rows.append(("convolution buffer", f"{target.cbuf_banks} banks, {target.cbuf_bytes} bytes"))
    for precision in (each for each in Precision if each.name.lower() in target.precisions):
        widest = ", ".join(
            f"{pdp_line_width(target, precision, kernel, 1)} ({kernel})" for kernel in (1, 2, 4, 8)
        )
        rows.append((f"widest pooled row in one piece, {precision.name} (kernel over stride)", widest))
    return rows


def _has(lack: str | None) -> str:
    return "yes" if lack is None else "no"


def _nvdla_limits() -> str:
    lines = [
        "# Limits of NVDLA",
        "",
        "Written by `python -m xonnc.tools.reference` from `targets/limits.py`, which the lowering, the",
        "checks of loadables, `xonnc ops --target` and `xonnc explain` read as well. A refusal names the",
        "field with the value found, the greatest that is taken, and this way out.",
        "",
        "## Register fields",
        "",
        "The same on every configuration.",
        "",
        "| engine | what | takes | when the model asks for more |",
        "|---|---|---|---|",
        *(
            f"| {each.engine} | {each.what} | {each.least} to {each.most} | {each.way_out} |"
            for each in limits.LIMITS
        ),
    ]
    targets = [load_target(name) for name in target_names()]
    columns = [limit_rows(target) for target in targets]
    names = list(dict.fromkeys(name for rows in columns for name, _ in rows))
    shared = {f"{limit.what}, {limit.engine}" for limit in limits.LIMITS}
    lines += [
        "",
        "## By target",
        "",
        f"| | {' | '.join(each.name for each in targets)} |",
        f"|---|{'---|' * len(targets)}",
    ]
    for name in (name for name in names if name not in shared):
        cells = [dict(rows).get(name, "–") for rows in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _nvdla_operators() -> str:
    lines = [
        "# Operators on NVDLA",
        "",
        "Written by `python -m xonnc.tools.reference` from the lowering functions. A model with any other",
        "operator is refused, with every such node named at once. The compiler tells the hardware's limits",
        "(sizes, strides, pads) for the node that breaks them.",
    ]
    for precision, where in PRECISIONS.items():
        lines += ["", f"## {precision.upper()}", "", where, "", "| operator | runs as |", "|---|---|"]
        lines += [f"| `{name}` | {how} |" for name, how in dla_operators(precision).items()]
    return "\n".join(lines) + "\n"


def _nvdla_refusals() -> str:
    lines = [
        "# What refusals mean",
        "",
        "Written by `python -m xonnc.tools.reference` from the lowering itself: every rule that an operator",
        "may break, with `…` for the values found. The compiler puts the node's name in front and tells all",
        "refusals of a model in one run; so does `xonnc explain`. Sizes, strides, kernels and pads are in",
        "[limits](nvdla-limits.md).",
    ]
    theme = ""
    for refusal in refusals():
        if refusal.theme != theme:
            theme = refusal.theme
            lines += ["", f"## {theme.capitalize()}", "", "| said | what to do |", "|---|---|"]
        said, todo = (each.replace("|", "\\|") for each in (refusal.rule, refusal.way_out))
        lines.append(f"| {said} | {todo} |")
    return "\n".join(lines) + "\n"


PRECISIONS = {
    "fp16": "Networks of floats, on targets that compute in FP16 (`nv_full`).",
    "int8": "Networks between QuantizeLinear and DequantizeLinear, on every target; what an operator makes"
    " is rounded once, to the grid of the QuantizeLinear behind it.",
}


def _peer_flags() -> str:
    lines = [
        "# Options of onnx-mlir",
        "",
        "Written by `python -m xonnc.tools.reference` from `tools/peer_flags.py`. All options that onnx-mlir",
        "declares, spelled as it spells them (one dash or two), and what they do here. Of an option that is",
        "not taken the nearest is named, as the tools do. `ONNX_MLIR_FLAGS` in the environment and",
        "`--config-file` may hold flags too; each tool takes those that are for it.",
        "",
        "| option | taken by | does, or the nearest |",
        "|---|---|---|",
    ]
    for flag in PEER_FLAGS:
        value = f"={flag.value}" if flag.value else ""
        shown = ", ".join(f"`{spelled(name)}{value}`" for name in flag.spellings)
        # A bar ends a cell even inside of code.
        cells = [cell.replace("|", "\\|") for cell in (shown, ", ".join(flag.by) or "–", flag.does)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _targets() -> str:
    targets = [load_target(name) for name in target_names()]
    lines = [
        "# Targets",
        "",
        "Written by `python -m xonnc.tools.reference`.",
        "",
        "## NVDLA",
        "",
        "From `targets/*.toml`. `--target` takes one of these names, or the path of a TOML file of your own",
        "with the same properties.",
        "",
        f"| property | {' | '.join(target.name for target in targets)} |",
        f"|---|{'---|' * len(targets)}",
    ]
    for field in fields(NvdlaTarget):
        if field.name not in ("name", "description"):
            values = [_value(getattr(target, field.name)) for target in targets]
            lines.append(f"| `{field.name}` | {' | '.join(values)} |")
    lines += [
        "",
        "## Native code",
        "",
        "From `targets/processors/*.toml`. `--target cpu` takes the first of these that this processor is.",
        "Code for another architecture has its constants in a `.weight` file; C source is for any.",
        "",
        "| target | for | LLVM's features | vectors | core |",
        "|---|---|---|---|---|",
    ]
    for processor in map(load_cpu, cpu_names()):
        needs = ", ".join(f"`{feature}`" for feature in processor.features) or "none"
        vectors = f"{processor.registers} of {processor.vector_bytes} bytes"
        core = processor.core.name
        lines.append(f"| `{processor.name}` | {processor.description} | {needs} | {vectors} | `{core}` |")
    return "\n".join([*lines, *_cores()]) + "\n"


def _cores() -> list[str]:
    """The cores that tiles are computed for, and on which of them speed was measured."""
    lines = [
        "",
        "### Cores",
        "",
        "From `targets/cores/*.toml`: what tiles and prefetch distances are computed from. Code for a kind",
        "of processor is for the core named with it. `--target cpu` is for the core at hand: LLVM knows its",
        "name, Linux its caches. The IR of each stage says which core its kernels are for, as",
        "`krnl-attach-core` writes it. Speed was measured on cores with a last column; the numbers of the",
        "others are from their manuals.",
        "",
        "| core | of | bytes multiplied, loaded a cycle | latency | L1, L2, L3 (KiB) | hardware prefetches "
        "| measured |",
        "|---|---|---|---|---|---|---|",
    ]
    for core in map(load_core, core_names()):
        caches = ", ".join(str(size >> 10) for size in (core.l1_bytes, core.l2_bytes, core.l3_bytes))
        lines.append(
            f"| `{core.name}` | {core.description} | {core.fma_bytes}, {core.load_bytes} "
            f"| {core.fma_latency} | {caches} | {core.prefetchers} | {core.measured or '–'} |"
        )
    return lines


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    write()
