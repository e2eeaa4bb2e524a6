"""Passes on data movement and on operators that repeat."""

from __future__ import annotations

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node, attribute, is_op, set_attribute
from xonnc.compat.onnxoptimizer.registry import MEMORY, PARTIAL, STABILITY, PassType, node_pass

_IDEMPOTENT = ("Ceil", "Floor", "Relu", "Reshape", "Round", "Sign")


@node_pass(
    PassType.FUSE,
    differs="A 0 in the shape of the outer Reshape becomes the dimension of the inner one that it copies.",
)
def eliminate_consecutive_idempotent_ops(graph: Graph, node: Node) -> bool:
    """Remove the inner one of two equal idempotent operators: Ceil, Floor, Relu, Reshape, Round, Sign."""
    inner = graph.maker(node.input[0]) if is_op(node, *_IDEMPOTENT) else None
    if inner is None or not is_op(inner, node.op_type) or not graph.is_used_once(node.input[0]):
        return False
    if is_op(node, "Reshape") and not _make_shape_absolute(graph, node):
        return False
    graph.set_input(node, 0, inner.input[0])
    graph.erase_if_dead(inner)
    return True


def _make_shape_absolute(graph: Graph, node: Node) -> bool:
    """Replace each 0 in the shape of a Reshape by the size it copies, if known."""
    if len(node.input) < 2:
        return False
    shape = graph.constant_ints(node.input[1])
    if shape is None:
        return False
    if attribute(node, "allowzero", 0) or 0 not in shape:
        return True
    dims = graph.dims(node.input[0]) or ()
    sizes = [(*dims, *shape)[index] if size == 0 else size for index, size in enumerate(shape)]
    known = [size for size in sizes if isinstance(size, int) and size != 0]
    if len(dims) < len(shape) or len(known) < len(sizes):
        return False
    graph.set_input(node, 1, graph.add_ints(known, f"{node.output[0]}_shape"))
    return True


@node_pass(
    PassType.FUSE,
    differs="Two transpositions without `perm` cancel each other wherever their input comes from.",
)
def fuse_consecutive_transposes(graph: Graph, node: Node) -> bool:
    """Compose Transpose of Transpose; two without `perm` cancel each other."""
    inner = graph.maker(node.input[0]) if is_op(node, "Transpose") else None
    if inner is None or not is_op(inner, "Transpose"):
        return False
    first, second = attribute(inner, "perm"), attribute(node, "perm")
    if (first is None) != (second is None):
        return False
    if first is None:
        if not graph.bypass(node, inner.input[0]):
            return False
    else:
        graph.set_input(node, 0, inner.input[0])
        set_attribute(node, "perm", [first[axis] for axis in second])
    graph.erase_if_dead(inner)
    return True


@node_pass(PassType.FUSE, efficiency=PARTIAL)
def fuse_consecutive_concats(graph: Graph, node: Node) -> bool:
    """Join a Concat with those among its inputs that have the same axis and no other reader."""
    if not is_op(node, "Concat"):
        return False
    axis, inputs = attribute(node, "axis", 1), list[str]()
    spliced: list[Node] = []
    for name in node.input:
        inner = graph.maker(name)
        if (
            inner is not None
            and is_op(inner, "Concat")
            and attribute(inner, "axis", 1) == axis
            and graph.is_used_once(name)
        ):
            inputs += inner.input
            spliced.append(inner)
        else:
            inputs.append(name)
    if spliced:
        graph.set_inputs(node, inputs)
    for inner in spliced:
        graph.erase(inner)
    return bool(spliced)


@node_pass(PassType.FUSE, MEMORY, differs="Infers shapes where the model declares none.")
def fuse_consecutive_slices(graph: Graph, node: Node) -> bool:
    """Join two Slice of disjoint axes."""
    inner = graph.maker(node.input[0]) if is_op(node, "Slice") and len(node.input) == 5 else None
    if inner is None or not is_op(inner, "Slice") or len(inner.input) != 5:
        return False
    dims = graph.dims(node.input[0])
    axes = [graph.constant_ints(each.input[3]) for each in (inner, node)]
    if dims is None or axes[0] is None or axes[1] is None:
        return False
    rank = len(dims)
    if {axis % rank for axis in axes[0]} & {axis % rank for axis in axes[1]}:
        return False
    joined = [
        graph.make(node, "Concat", [inner.input[index], node.input[index]], axis=0) for index in range(1, 5)
    ]
    graph.replace(node, "Slice", [inner.input[0], *joined])
    graph.erase_if_dead(inner)
    return True


@node_pass(PassType.FUSE, STABILITY, differs="Takes a Softmax without an axis too.")
def fuse_consecutive_log_softmax(graph: Graph, node: Node) -> bool:
    """Join Log of Softmax to LogSoftmax, which keeps its precision where Softmax is near 0."""
    inner = graph.maker(node.input[0]) if is_op(node, "Log") else None
    if inner is None or not is_op(inner, "Softmax") or not graph.is_used_once(node.input[0]):
        return False
    axis = attribute(inner, "axis")
    graph.replace(node, "LogSoftmax", inner.input, **({} if axis is None else {"axis": axis}))
    graph.erase(inner)
    return True


@node_pass(PassType.NOP, efficiency=PARTIAL)
def rewrite_where(graph: Graph, node: Node) -> bool:
    """Exchange the branches of a Where instead of negating its condition."""
    inner = graph.maker(node.input[0]) if is_op(node, "Where") else None
    if inner is None or not is_op(inner, "Not") or not graph.is_used_once(node.input[0]):
        return False
    graph.set_inputs(node, [inner.input[0], node.input[2], node.input[1]])
    graph.erase(inner)
    return True
