"""
Explain which kernel of native code computes each node of a model, or why the host does.

    for node in explain_native("model.onnx").nodes:
        print(node.node, node.engine, node.with_nodes, node.reason)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from xonnc.argument_types import checks_arguments
from xonnc.contexts import new_context
from xonnc.dialects.onnx.locations import node_name, node_names
from xonnc.formats.native.program import HostStep, NativeStep, Program, SessionStep
from xonnc.formats.onnx import import_model
from xonnc.formats.onnx.known_operators import unknown_operators
from xonnc.lowering.native.profiling import split_kernels
from xonnc.native_compilation import CompileOptions, lower_to_program, prepare_for_lowering, resolve_processor
from xonnc.node_explanations import (
    Explanation,
    NodeExplanation,
    name_nodes,
    named_operators,
    with_shared_layers,
)
from xonnc.simplifier import simplify
from xonnc.transforms.models.signatures import Shapes


@checks_arguments
def explain_native(path: str | Path, target: str = "cpu", input_shapes: Shapes | None = None) -> Explanation:
    """
    Explain how native code executes the nodes of a model. No machine code is made.

    Parameters:
        path: the model.
        target: `cpu`, or a processor kind such as `avx2`.
        input_shapes: sizes of dynamic inputs by name.

    Returns: the explanation. The engine of a node is `native`; `session` for control flow and sequences,
        which the session runs; `host` with the reason for what ONNX's reference evaluator computes; `removed`
        for a node that was simplified away; `refused` for an operator that does not exist. `layers` are the
        kernels in the order of their calls.

    Raises: `XonncError` for a file that is not a model, `UnknownNameError` for an unknown target.

    Example:
        >>> explain_native("model.onnx", "avx2").layers
    """
    options = CompileOptions(resolve_processor(target, needs_host=False), profile=True)
    imported = import_model(Path(path), new_context(), inline_functions=True)
    nodes = name_nodes(imported)
    unknown = {node_name(op): reason for reason, op in unknown_operators(imported).items()}
    if unknown:
        return Explanation(
            target,
            tuple(
                NodeExplanation(name, operator, "refused", reason=unknown[name].removeprefix(f"{name}: "))
                if name in unknown
                else NodeExplanation(name, operator, "undecided")
                for name, operator in nodes
            ),
            (),
            tuple(unknown.values()),
        )
    module = simplify(
        path,
        inline_functions=True,
        fold_overridable=True,
        input_shapes=input_shapes,
        declared="checked",
        drops_branches=True,
    ).module
    name_nodes(module)
    merged = {name: node_name(op) for op in named_operators(module) for name in node_names(op)}
    context = new_context()
    prepare_for_lowering(module, context, options.passes)
    options.attach(module)
    program, steps, _ = lower_to_program(module, options, context)
    split_kernels(program, steps)
    return _explained(target, program, nodes, merged)


def _explained(
    target: str, program: Program, nodes: Sequence[tuple[str, str]], merged: Mapping[str, str]
) -> Explanation:
    kernels: list[tuple[str, ...]] = []
    layers: dict[str, list[int]] = {}
    others: dict[str, tuple[str, str | None]] = {}
    """The engine of nodes without a kernel, and the reason."""
    for step in program.walk_steps():
        match step:
            case NativeStep():
                for name in step.nodes:
                    layers.setdefault(name, []).append(len(kernels))
                kernels.append(tuple(step.kernels))
            case HostStep():
                others[step.node] = "host", step.reason
            case SessionStep():
                others[step.node] = "session", None
    found: list[NodeExplanation] = []
    for name, operator in nodes:
        executor = name if name in layers or name in others else merged.get(name, "")
        if executor in others:
            engine, reason = others[executor]
            found.append(NodeExplanation(name, operator, engine, reason=reason))
        elif executor in layers:
            found.append(NodeExplanation(name, operator, "native", tuple(layers[executor])))
        else:
            found.append(NodeExplanation(name, operator, "view" if executor else "removed"))
    return Explanation(target, tuple(with_shared_layers(found)), tuple(kernels), ())
