"""Passes on MatMul, Gemm and Einsum."""

from __future__ import annotations

import re

import onnx

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node, attribute, is_op, set_attribute
from xonnc.compat.onnxoptimizer.registry import PassType, node_pass

_T = onnx.TensorProto
_MATMUL_TYPES = (_T.FLOAT16, _T.FLOAT, _T.DOUBLE, _T.INT32, _T.INT64, _T.UINT32, _T.UINT64)
_FLOATS = (_T.FLOAT16, _T.FLOAT, _T.DOUBLE)
_GEMM_BROADCASTS_SINCE = 7
_GEMM_TAKES_INTEGERS_SINCE = 11


@node_pass(PassType.IMMUTABLE)
def adjust_add(graph: Graph, node: Node) -> bool:
    """Put the constant operand of an Add second, where backends look for a bias."""
    if not is_op(node, "Add") or len(node.input) != 2:
        return False
    first, second = node.input
    if not graph.is_constant(first) or graph.is_constant(second):
        return False
    graph.set_inputs(node, [second, first])
    return True


@node_pass(
    PassType.FUSE,
    differs="Integers before opset 11 stay a MatMul, since that Gemm has no kernel in onnxruntime.",
)
def fuse_matmul_add_bias_into_gemm(graph: Graph, node: Node) -> bool:
    """Join a MatMul of two matrices and the Add of a bias to a Gemm."""
    product = graph.maker(node.input[0]) if is_op(node, "Add") else None
    if product is None or not is_op(product, "MatMul") or not graph.is_used_once(node.input[0]):
        return False
    a, b = graph.type(product.input[0]), graph.type(product.input[1])
    bias = graph.dims(node.input[1])
    if a.dims is None or b.dims is None or bias is None or len(a.dims) != 2 or len(b.dims) != 2:
        return False
    rows, columns = a.dims[0], b.dims[1]
    if not isinstance(rows, int) or not isinstance(columns, int):
        return False
    if bias not in ((columns,), (1, columns), (rows, columns)):
        return False
    opset, element = graph.model.opset, a.element or b.element
    if opset < _GEMM_BROADCASTS_SINCE or (
        opset < _GEMM_TAKES_INTEGERS_SINCE and element not in (0, *_FLOATS)
    ):
        return False
    graph.replace(node, "Gemm", [*product.input, node.input[1]], alpha=1.0, beta=1.0, transA=0, transB=0)
    graph.erase(product)
    return True


@node_pass(PassType.FUSE, differs="Takes a Transpose without `perm` too.")
def fuse_transpose_into_gemm(graph: Graph, node: Node) -> bool:
    """Let a Gemm transpose its operands itself."""
    if not is_op(node, "Gemm"):
        return False
    changed = False
    for index, name in ((0, "transA"), (1, "transB")):
        inner = graph.maker(node.input[index])
        if inner is not None and is_op(inner, "Transpose") and attribute(inner, "perm", [1, 0]) == [1, 0]:
            graph.set_input(node, index, inner.input[0])
            set_attribute(node, name, 1 - attribute(node, name, 0))
            graph.erase_if_dead(inner)
            changed = True
    return changed


@node_pass(PassType.REPLACE)
def replace_einsum_with_matmul(graph: Graph, node: Node) -> bool:
    """Replace the Einsum `…mk,…kn->…mn` by a MatMul, `…mk,…nk->…mn` by a Transpose and a MatMul."""
    if not is_op(node, "Einsum") or len(node.input) != 2:
        return False
    equation = re.sub(r"\s", "", attribute(node, "equation", ""))
    found = re.fullmatch(r"([a-z]*)([a-z])([a-z]),\1([a-z])([a-z])->\1\2([a-z])", equation)
    if found is None or graph.type(node.input[0]).element not in _MATMUL_TYPES:
        return False
    batch, m, k, third, fourth, n = found.groups()
    letters = (*batch, m, k, n)
    if len(set(letters)) != len(letters) or (third, fourth) not in ((k, n), (n, k)):
        return False
    left, right = node.input
    if (third, fourth) == (n, k):
        rank = len(batch) + 2
        perm = [*range(rank - 2), rank - 1, rank - 2]
        right = graph.make(node, "Transpose", [right], perm=perm)
    graph.replace(node, "MatMul", [left, right])
    return True


@node_pass(PassType.FUSE)
def fuse_qkv(graph: Graph, node: Node) -> bool:
    """Join the three products of attention's query, key and value to one MatMul and a Split."""
    if not is_op(node, "MatMul"):
        return False
    source = node.input[0]
    owner = graph.owner(source)
    users = [] if owner is None else list(owner.users.get(source, {}).values())
    if owner is not graph or len(users) != 3 or source in graph.outputs or graph.captured_outputs[source]:
        return False
    for user in users:
        if graph.maker(user.output[0]) is not user or not _is_projection(graph, user, source):
            return False
    shapes = [graph.dims(user.input[1]) for user in users]
    if shapes[0] is None or len(shapes[0]) < 2 or any(shape != shapes[0] for shape in shapes):
        return False
    columns = shapes[0][-1]
    assert isinstance(columns, int)
    weights = graph.make(node, "Concat", [user.input[1] for user in users], axis=len(shapes[0]) - 1)
    joined = graph.make(node, "MatMul", [source, weights])
    outputs = [user.output[0] for user in users]
    sizes = [columns] * 3
    for user in users:
        graph.erase(user)
    if graph.model.opset >= 13:
        split = onnx.helper.make_node("Split", [joined, graph.add_ints(sizes, "split")], outputs, axis=-1)
    else:
        split = onnx.helper.make_node("Split", [joined], outputs, axis=-1, split=sizes)
    graph.insert(node, split)
    return True


def _is_projection(graph: Graph, node: Node, source: str) -> bool:
    """Whether a node is a MatMul of `source` and a constant with one use, which may be an output."""
    if not is_op(node, "MatMul") or node.input[0] != source or node.input[1] == source:
        return False
    return graph.use_count(node.output[0]) == 1 and graph.is_constant(node.input[1])


@node_pass(
    PassType.REPLACE, differs="Only a matrix on the right, whose product has the axes of the left operand."
)
def adjust_slice_and_matmul(graph: Graph, node: Node) -> bool:
    """Multiply constants before a Slice instead of after it, so that the product folds."""
    inner = graph.maker(node.input[0]) if is_op(node, "MatMul") else None
    if inner is None or not is_op(inner, "Slice") or len(inner.input) < 4:
        return False
    if not graph.is_used_once(node.input[0]) or not graph.is_constant(node.input[1]):
        return False
    axes, left = graph.constant_ints(inner.input[3]), graph.dims(inner.input[0])
    if not graph.is_constant(inner.input[0]) or axes is None or left is None:
        return False
    rank = len(left)
    if len(graph.dims(node.input[1]) or ()) != 2 or rank < 2 or any(axis % rank == rank - 1 for axis in axes):
        return False
    product = graph.make(node, "MatMul", [inner.input[0], node.input[1]])
    graph.replace(node, "Slice", [product, *inner.input[1:]])
    graph.erase(inner)
    return True
