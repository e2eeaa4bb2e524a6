"""`xonnc ops`: list the operators of ONNX and of plug-ins, and how a target runs them."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.registry import op_class, op_classes
from xonnc.errors import XonncError, suggest
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import pdp_line_width
from xonnc.lowering.onnx_to_dla.builders.image_inputs import FORMATS, ImageInput
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import LOWERINGS_BY_PRECISION
from xonnc.plugins import bundled
from xonnc.plugins.backend_declarations import Backend
from xonnc.plugins.backends import backend_of
from xonnc.plugins.operators import OperatorSpec
from xonnc.plugins.registration import registered
from xonnc.targets import NvdlaTarget, limits, load_target
from xonnc.targets.cpu import cpu_names
from xonnc.tools.reference import dla_operators, limit_rows, native_operators, operators


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "operator", nargs="*", help="operators to list, by their ONNX names, as Conv or com.microsoft.Gelu"
    )
    parser.add_argument("--target", help="list the operators that this target supports, and how")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> int:
    """List operators."""
    backend = backend_of(args.target)
    if backend is not None:
        return _list_backend(backend, args)
    contributed = _of_plugins()
    known = {**operators(), **{name: _op_names(specs) for name, specs in contributed.items()}}
    chosen = _chosen(args.operator, known) or list(known)
    is_cpu = args.target in ("cpu", *cpu_names())
    target = load_target(args.target) if args.target and not is_cpu else None
    if target is not None or is_cpu:
        how = _natively(contributed) if target is None else _on(target, contributed)
        rows = {name: how.get(name, "not taken") for name in chosen if name in how or args.operator}
    else:
        made = [spec.kind for specs in contributed.values() for spec in specs if spec.kind is not None]
        versions = {kind.name: opsets_of(kind) for kind in (*op_classes(), *made)}
        rows = {name: ", ".join(f"{op}{versions[op]}" for op in known[name]) for name in chosen}
    if args.json:
        print(json.dumps(rows if target is None else _as_json(target, chosen, contributed), indent=2))
        return 0
    width = max(map(len, rows))
    for name, text in rows.items():
        print(f"{name:<{width}}  {text}")
    if target is not None:
        _limits(target)
    return 0


def opsets_of(kind: type[OnnxOp]) -> str:
    """Return ` (6 on)`, the versions of its domain in which a class is an operator; nothing for none."""
    if not kind.SINCE:
        return ""
    if kind.UNTIL is None:
        return f" ({kind.SINCE} on)"
    return f" ({kind.SINCE})" if kind.UNTIL == kind.SINCE + 1 else f" ({kind.SINCE} to {kind.UNTIL - 1})"


def _of_plugins() -> Mapping[str, Sequence[OperatorSpec]]:
    """Return the versions of each operator of a plug-in, newest first, by domain and name."""
    for name in bundled.BUNDLED:
        bundled.load(name)
    found: dict[str, list[OperatorSpec]] = {}
    for plugin in registered():
        for spec in plugin.operators:
            # The operator of a plug-in may be overridden by that of another.
            if op_class(spec.domain, spec.name, spec.since) is spec.kind:
                found.setdefault(f"{spec.domain or 'ai.onnx'}.{spec.name}", []).append(spec)
    return {
        name: sorted(specs, key=lambda spec: spec.since, reverse=True)
        for name, specs in sorted(found.items())
    }


def _op_names(specs: Sequence[OperatorSpec]) -> tuple[str, ...]:
    return tuple(spec.kind.name for spec in specs if spec.kind is not None)


def _chosen(given: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the known names of operators; those of plug-ins are found without their domain too."""
    chosen: list[str] = []
    for name in given:
        named = [each for each in known if name in (each, each.rpartition(".")[2])]
        if not named:
            raise XonncError(f"no operator '{name}'{suggest(name, known)}")
        chosen += named
    return list(dict.fromkeys(chosen))


def _natively_by_plugin(spec: OperatorSpec) -> str:
    """Return how native code runs an operator of a plug-in; nothing if it does not."""
    if spec.c_function is not None:
        return f"By a function in C of plug-in {spec.plugin.name}."
    if spec.function("kernel") is not None:
        return f"Elementwise, by the kernel of plug-in {spec.plugin.name}."
    if spec.function("decompose") is not None:
        return f"Decomposed by plug-in {spec.plugin.name}."
    if spec.function("reference") is not None:
        return f"On the host, by the reference of plug-in {spec.plugin.name}."
    return ""


def _on_nvdla_by_plugin(spec: OperatorSpec, precision: str) -> str:
    """Return how NVDLA runs an operator of a plug-in in `fp16` or `int8`; nothing if it does not."""
    if spec.function("lookup") is not None:
        return f"By a lookup table of plug-in {spec.plugin.name}."
    if precision == "fp16" and spec.function("layers") is not None:
        return f"By the hardware layers of plug-in {spec.plugin.name}."
    if spec.function("decompose") is not None:
        return f"Decomposed by plug-in {spec.plugin.name}."
    return ""


def _list_backend(backend: Backend, args: argparse.Namespace) -> int:
    """List the operators that a backend of a plug-in lowers, and its constraints."""
    docs = {
        name: (inspect.getdoc(function) or "lowered").split("\n")[0]
        for name, function in sorted(backend.lowerings.items())
    }
    rows = {name: docs.get(name, "not taken") for name in args.operator or docs}
    limits = [
        (", ".join(each.operators) or "any operator", each.doc)
        for each in backend.constraints
        if not args.operator or not each.operators or set(each.operators) & set(args.operator)
    ]
    target = backend.target_of(args.target).name
    if args.json:
        listed = [{"operators": names, "limit": doc} for names, doc in limits]
        print(json.dumps({"target": target, "operators": rows, "limits": listed}, indent=2))
        return 0
    for title, table in (("", list(rows.items())), (f"limits of {target}", limits)):
        width = max((len(name) for name, _ in table), default=0)
        if title and table:
            print(f"\n{title}")
        for name, text in table:
            print(f"{'  ' * bool(title)}{name:<{width}}  {text}")
    return 0


def _as_json(
    target: NvdlaTarget, operators: Collection[str], contributed: Mapping[str, Sequence[OperatorSpec]]
) -> dict[str, object]:
    """Return how a target runs operators, by precision, and its limits."""
    tables = _tables(target, contributed)
    names = sorted({name for table in tables.values() for name in table if name in operators})
    precisions = [each for each in Precision if each.name.lower() in target.precisions]
    return {
        "target": target.name,
        "precisions": list(target.precisions),
        "operators": {
            name: {precision: table[name] for precision, table in tables.items() if name in table}
            for name in names
        },
        "limits": [asdict(limit) for limit in limits.LIMITS],
        "features": {name: limits.lacks(target, name) is None for name in limits.FEATURES}
        | {"softmax": limits.lacks_emulator(target) is None},
        "lrn_sizes": list(limits.LRN_SIZES),
        "images_at_once": target.batch,
        "convolution_buffer": {"banks": target.cbuf_banks, "bytes": target.cbuf_bytes},
        "widest_pooled_row": {
            each.name.lower(): {kernel: pdp_line_width(target, each, kernel, 1) for kernel in (1, 2, 4, 8)}
            for each in precisions
        },
        "image_formats": {
            each.name.lower(): [name for name in FORMATS if ImageInput(name).precision is each]
            for each in precisions
        },
    }


def _limits(target: NvdlaTarget) -> None:
    """Print the limits of a target."""
    rows = limit_rows(target)
    width = max(len(name) for name, _ in rows)
    print(f"\nlimits of {target.name}")
    for name, text in rows:
        print(f"  {name:<{width}}  {text}")


def _natively(contributed: Mapping[str, Sequence[OperatorSpec]]) -> dict[str, str]:
    """Return how native code runs each supported operator."""
    found = {name: row.how for name, row in native_operators().items()}
    return found | {
        name: how for name, specs in contributed.items() if (how := _natively_by_plugin(specs[0]))
    }


def _tables(
    target: NvdlaTarget, contributed: Mapping[str, Sequence[OperatorSpec]]
) -> dict[str, Mapping[str, str]]:
    """Return how a target runs each operator that it takes, by precision."""
    return {
        precision: {
            **dla_operators(precision),
            **{
                name: how
                for name, specs in contributed.items()
                if (how := _on_nvdla_by_plugin(specs[0], precision))
            },
        }
        for precision in target.precisions
        if precision in LOWERINGS_BY_PRECISION
    }


def _on(target: NvdlaTarget, contributed: Mapping[str, Sequence[OperatorSpec]]) -> dict[str, str]:
    """Return how a target runs each operator, by precision."""
    tables = _tables(target, contributed)
    names = sorted({name for table in tables.values() for name in table})
    return {
        name: " ".join(f"{precision}: {table[name]}" for precision, table in tables.items() if name in table)
        for name in names
    }
