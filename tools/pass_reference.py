"""The passes and the table of optimization levels, as `xonnc passes` and the pages of `docs` show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from xdsl.passes import ModulePass

from xonnc.passes import PASSES, pass_class
from xonnc.transforms.optimization_levels import DEFAULT_LEVEL, LEVELED_PASSES, LEVELS, LeveledPass


def passes() -> Mapping[str, type[ModulePass]]:
    """The project's own passes by name, in alphabetical order."""
    return {name: pass_class(name) for name in sorted(PASSES)}


def levels() -> Sequence[tuple[LeveledPass, str]]:
    """The table of the optimization levels, with what each pass does."""
    return [(row, summary(pass_class(row.name))) for row in LEVELED_PASSES]


def summary(of: type[object]) -> str:
    """The first sentence of a docstring."""
    return " ".join((of.__doc__ or "").strip().split("\n\n")[0].split())


def options(of: type[ModulePass]) -> Mapping[str, str]:
    """A pass's options as written on a command line, with their defaults."""
    return {
        field.name.replace("_", "-"): _shown(field.default)
        for field in fields(of)
        if field.name != "name" and not field.metadata.get("hidden")
    }


def _shown(default: object) -> str:
    """A default as a command line spells it; what a pass decides itself is left open."""
    if isinstance(default, bool):
        return str(default).lower()
    return "" if default is None else str(default)


def optimization_levels_page() -> str:
    """`docs/optimization-levels.md`."""
    lines = [
        "# Optimization levels",
        "",
        "Written by `python -m xonnc.tools.reference` from `transforms/optimization_levels.py`.",
        "`xonnc passes --levels` prints the table. `xonnc compile -O1` and `xonnc simplify -O1` choose",
        "a level, as does `level=1` of "
        f"`xonnc.compile`, `xonnc.compile_artifact` and `xonnc.simplify`; the default is {DEFAULT_LEVEL}.",
        "",
        "* **O0**: only what a correct result needs: shapes, kernels, code. Each kernel is one operator.",
        "* **O1**: canonical forms, constants folded, equal nodes merged. Kernels are as at O0.",
        "* **O2**: several operators become one, in the model and in kernels; images lie in blocks.",
        "* **O3**: transposes move to where they cancel; LLVM runs its middle end too.",
        "",
        f"| pass | stage | {' | '.join(f'O{level}' for level in LEVELS)} | does |",
        f"|---|---|{'---|' * len(LEVELS)}---|",
    ]
    for row, does in levels():
        marks = " | ".join("×" if level >= row.level else "" for level in LEVELS)
        lines.append(f"| `{row.name}` | {row.stage} | {marks} | {does} |")
    marks = " | ".join(map(str, LEVELS))
    lines += [
        f"| LLVM | machine code | {marks} | Makes machine code at this level of its own. |",
        "",
        "The passes of the simplification run together until nothing changes, those for native code in this",
        "order. There a pass may have fewer rules than by itself: none that makes more nodes,",
        "and none that makes an operator that the model's opset does not have.",
        "",
        "## One pass on or off",
        "",
        "```",
        "xonnc compile model.onnx -o model.so --disable-pass fuse-onnx",
        "xonnc compile model.onnx -o model.so -O0 --enable-pass constprop-onnx",
        "xonnc simplify model.onnx simple.onnx --disable-pass fuse-channels-onnx",
        "onnx-opt model.mlir --simplify-onnx='level=1 disable-pass=onnx-cse-with-node-name'",
        "```",
        "",
        "In Python these are lists:",
        '`xonnc.compile(model, level=0, enable_pass=["constprop-onnx"])`. A pass that is both enabled and',
        "disabled does not run. Those of O0 cannot be disabled. Option `disable-pattern` leaves out",
        "single rules in onnx-opt.",
        "",
        "At O0 an operator may have no native code that has some at other levels, because what its code is",
        "made for, an axis say, is computed from constants in the model. A session computes it with the",
        "reference; `xonnc compile` refuses, and says so: `--enable-pass constprop-onnx` is enough.",
    ]
    return "\n".join(lines) + "\n"


def passes_page() -> str:
    """`docs/passes.md`."""
    lines = [
        "# Passes",
        "",
        "Written by `python -m xonnc.tools.reference`. Each runs as `onnx-opt --NAME[='option=value …']`",
        "and in any xDSL tool as `xdsl-opt -p 'NAME{option=value}'`; xDSL's own passes are at hand as well.",
        "",
        "| pass | options | does |",
        "|---|---|---|",
    ]
    for name, found in passes().items():
        shown = ", ".join(f"`{option}={default}`" for option, default in options(found).items())
        lines.append(f"| `{name}` | {shown or '–'} | {summary(found)} |")
    return "\n".join(lines) + "\n"
