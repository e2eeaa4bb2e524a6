"""The reference pages of `docs`, written from the code: `python -m xonnc.tools.reference`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import cast

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.registry import op_classes
from xonnc.formats.nvdla.checks.catalogue import RULES, WARNINGS
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import pdp_line_width
from xonnc.formats.onnx.function_bodies import has_function_body
from xonnc.formats.onnx.op_versions import OpIdentity, identity_of_class
from xonnc.formats.onnx.schemas import newest_opset
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import LOWERINGS_BY_PRECISION
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import SUPPORTS_DYNAMIC_SHAPES
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import DATA_MOVEMENT, ELEMENTWISE, LOWERINGS
from xonnc.plugins.op_class import PluginOp
from xonnc.runtime.native.string_operators import IMPLEMENTATIONS, PREPARED_IMPLEMENTATIONS
from xonnc.targets import NvdlaTarget, limits, load_target, target_names
from xonnc.targets.cores import core_names, load_core
from xonnc.targets.cpu import cpu_names, load_cpu
from xonnc.tools.api_reference import api_page
from xonnc.tools.command_reference import commands_page
from xonnc.tools.dialect_reference import dialects_page
from xonnc.tools.optimizer_reference import optimizer_page
from xonnc.tools.pass_reference import optimization_levels_page, passes_page
from xonnc.tools.peer_flags import PEER_FLAGS, spelled
from xonnc.tools.refusals import refusals
from xonnc.transforms.models.standard_functions import OWN

BY_SESSION = "strings, maps; by the session"
"""The element types of operators that the session computes."""

ROOT = Path(__file__).resolve().parents[1]


def generators() -> Mapping[str, Callable[[], str]]:
    """Return what writes each generated page, by its file name in `docs`."""
    return {
        "api.md": api_page,
        "commands.md": commands_page,
        "dialects.md": dialects_page,
        "native-operators.md": _native_operators,
        "nvdla-checks.md": _nvdla_checks,
        "nvdla-limits.md": _nvdla_limits,
        "nvdla-operators.md": _nvdla_operators,
        "nvdla-refusals.md": _nvdla_refusals,
        "onnx-optimizer.md": optimizer_page,
        "optimization-levels.md": optimization_levels_page,
        "passes.md": passes_page,
        "peer-flags.md": _peer_flags,
        "targets.md": _targets,
    }


def pages() -> Mapping[str, str]:
    """Return the generated pages by their file name in `docs`."""
    return {name: generate() for name, generate in generators().items()}


def write() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text)


def _identity(op: type[OnnxOp]) -> OpIdentity | None:
    # The pages are about the compiler, not the plug-ins that this process has loaded.
    return None if issubclass(op, PluginOp) else identity_of_class(op)


def operators() -> Mapping[str, tuple[str, ...]]:
    """Return the dialect's ops for each ONNX operator, newest first, in alphabetical order."""
    found: dict[str, tuple[str, ...]] = {}
    for op in op_classes():
        if identity := _identity(op):
            found[identity.op_type] = (*found.get(identity.op_type, ()), op.name)
    return dict(sorted(found.items()))


def dla_operators(precision: str) -> Mapping[str, str]:
    """Return the DLA lowering of each supported ONNX operator in `fp16` or `int8`, in alphabetical order."""
    found: dict[str, str] = {}
    for op, function in LOWERINGS_BY_PRECISION[precision].items():
        if identity := _identity(op):
            found[identity.op_type] = " ".join((function.__doc__ or "").split())
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class NativeOperator:
    """The native lowering of an operator, and its element types."""

    how: str
    elements: str
    supports_dynamic_shapes: bool
    """Whether kernels support dynamic shapes."""


def native_operators() -> Mapping[str, NativeOperator]:
    """Return the native lowering of each supported ONNX operator, in alphabetical order."""
    found: dict[str, NativeOperator] = {}
    for op, function in {**LOWERINGS, **ELEMENTWISE}.items():
        identity = _identity(op) if issubclass(op, OnnxOp) else None
        if identity is not None and identity.op_type not in found:
            text = " ".join((function.__doc__ or "").split()) or "A function of numbers."
            elements = "any but strings" if op in DATA_MOVEMENT else "numbers"
            supports_dynamic_shapes = op in SUPPORTS_DYNAMIC_SHAPES or op in ELEMENTWISE
            found[identity.op_type] = NativeOperator(text, elements, supports_dynamic_shapes)
    for name in operators():
        if name not in found and has_function_body("", name, newest_opset("") or 1):
            text = "Inlined: the function body that ONNX defines."
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
    decomposed = sum(each.elements == "as in that" for each in rows.values())
    lines = [
        "# Operators in native code",
        "",
        "For whoever wants to know whether a model runs without the reference evaluator. Generated by",
        "`python -m xonnc.tools.reference` from the lowering functions.",
        "",
        f"{kernels} operators have kernels, {decomposed} more are decomposed into others. A session runs",
        "every other operator, and forms of these that have no kernel, in the ONNX reference evaluator;",
        "`Session.report()` lists them with reasons. Libraries and C source reject them.",
        "",
        "* **Elements.** *numeric* stands for booleans, integers of 2 to 64 bits, f16, f32, f64, bf16 and",
        "  smaller floats. Types of 16 bits or less are computed in f32 and rounded.",
        "* **Dynamic shapes.** *yes*: one kernel serves all shapes. Otherwise the session compiles the",
        "  model for each set of shapes that it is fed; also if inputs that determine shapes, such as axes",
        "  and pads, have other values.",
        "* **Indices out of range** end a run with an error that names node, index and axis; no access is",
        "  out of bounds. So does a number of elements that differs from the model's declaration (`Range`,",
        "  `Compress`).",
        "* **Strings and maps** are computed by the session with Python and NumPy. Data movement of strings,",
        "  LabelEncoder, OneHotEncoder, TfIdfVectorizer and the classifiers of ai.onnx.ml are supported too.",
        "* **Random numbers** are those of NumPy's `RandomState` (Mersenne Twister). With a seed",
        "  `RandomUniform`, `Bernoulli` and `Dropout` give the reference's values, and all operators give",
        "  the same values in each run.",
        "",
        "| operator | computed as | elements | dynamic shapes |",
        "|---|---|---|---|",
    ]
    for name, row in rows.items():
        how = row.how.replace("|", "\\|")
        dynamic = "yes" if row.supports_dynamic_shapes else ""
        lines.append(f"| `{name}` | {how} | {row.elements} | {dynamic} |")
    return "\n".join(lines) + "\n"


def _nvdla_checks() -> str:
    lines = [
        "# Checks of loadables",
        "",
        "For whoever generates or debugs loadables. Generated by `python -m xonnc.tools.reference` from the",
        "rules. `xonnc inspect` applies them to any loadable, `xonnc compile` to each that it writes. A",
        "finding ends with the rule's name in brackets. Sections (§) are those of [NVDLA",
        "hardware](internals/nvdla-hardware.md).",
        "",
        "| rule | requirement |",
        "|---|---|",
        *(f"| `{name}` | {' '.join(text.split())} |" for name, text in sorted(RULES.items())),
        "",
        "## Warnings",
        "",
        "Loadables that do not run everywhere, or not always. The exit code stays 0.",
        "",
        "| rule | requirement |",
        "|---|---|",
        *(f"| `{name}` | {' '.join(text.split())} |" for name, text in sorted(WARNINGS.items())),
    ]
    return "\n".join(lines) + "\n"


def limit_rows(target: NvdlaTarget) -> list[tuple[str, str]]:
    """Return a target's limits by name: precisions, register fields, missing features, buffers."""
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
        "For whoever designs a model for NVDLA. Generated by `python -m xonnc.tools.reference` from",
        "`targets/limits.py`, which the lowering, the checks of loadables, `xonnc ops --target` and",
        "`xonnc explain` use too. A refusal names the field, the value found, the maximum, and what to do.",
        "",
        "## Register fields",
        "",
        "They are the same in every configuration.",
        "",
        "| engine | field | range | what to do beyond it |",
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
        "For whoever designs a model for NVDLA. Generated by `python -m xonnc.tools.reference` from the",
        "lowering functions. A model with any other operator is rejected, with all such nodes in one error;",
        "in a [package](nvdla-package.md) they run on the CPU. [Limits](nvdla-limits.md) and",
        "[refusals](nvdla-refusals.md) list what these operators cannot be.",
    ]
    for precision, where in PRECISIONS.items():
        lines += ["", f"## {precision.upper()}", "", where, "", "| operator | computed as |", "|---|---|"]
        lines += [f"| `{name}` | {how} |" for name, how in dla_operators(precision).items()]
    return "\n".join(lines) + "\n"


def _nvdla_refusals() -> str:
    lines = [
        "# Refusals",
        "",
        "For whoever wants to know why a node does not run on NVDLA. Generated by `python -m",
        "xonnc.tools.reference` from the lowering: every rule that an operator may break, with `…` for the",
        "values found. The compiler and `xonnc explain` report all refusals of a model at once, each with",
        "the node's name. Sizes, strides, kernels and pads are in [limits](nvdla-limits.md).",
    ]
    theme = ""
    for refusal in refusals():
        if refusal.theme != theme:
            theme = refusal.theme
            lines += ["", f"## {theme.capitalize()}", "", "| message | what to do |", "|---|---|"]
        rule, todo = (each.replace("|", "\\|") for each in (refusal.rule, refusal.way_out))
        lines.append(f"| {rule} | {todo} |")
    return "\n".join(lines) + "\n"


PRECISIONS = {
    "fp16": "Floating-point networks, on targets that compute in FP16 (`nv_full`).",
    "int8": "Networks with QuantizeLinear and DequantizeLinear, on every target. The result of an operator is"
    " rounded once, with the parameters of the QuantizeLinear after it.",
}


def _peer_flags() -> str:
    lines = [
        "# Options of onnx-mlir",
        "",
        "For users of onnx-mlir. Generated by `python -m xonnc.tools.reference` from `tools/peer_flags.py`:",
        "all options that onnx-mlir declares, spelled as there (one dash or two), and their effect here.",
        "For an option that is not supported the nearest one is named, as the tools do. The environment",
        "variable `ONNX_MLIR_FLAGS` and `--config-file` may contain options too; each tool takes its own.",
        "",
        "| option | supported by | effect, or the nearest option |",
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
        "For users of `--target`. Generated by `python -m xonnc.tools.reference` from the files in",
        "`targets`.",
        "",
        "## NVDLA",
        "",
        "From `targets/*.toml`. `--target` takes one of these names, or the path of a TOML file of your own",
        "with the same properties. The parameters are explained in [NVDLA",
        "hardware](internals/nvdla-hardware.md#s3.1).",
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
        "From `targets/processors/*.toml`. `--target cpu` selects the first of these that this processor",
        "supports. Code for another architecture has its constants in a `.weight` file; C source is",
        "portable.",
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
    """Return the CPU targets with tile tables, and those on which speed was measured."""
    lines = [
        "",
        "### Cores",
        "",
        "From `targets/cores/*.toml`: parameters from which tile sizes and prefetch distances are computed.",
        "Code for a kind of processor is tuned for the core in its row. `--target cpu` uses this machine's",
        "core, whose name LLVM detects and whose caches Linux reports. `krnl-attach-core` records the core",
        "in the IR. The last column says where speed was measured; parameters of the other cores are from",
        "their manuals.",
        "",
        "| core | processors | bytes multiplied, loaded per cycle | FMA latency "
        "| L1, L2, L3 (KiB) | hardware prefetches "
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
