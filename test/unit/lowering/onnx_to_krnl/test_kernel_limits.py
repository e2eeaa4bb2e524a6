"""Limits of kernel selection: the same kernels up to the limit, others beyond it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import onnx.parser
import pytest

from xonnc.contexts import new_context
from xonnc.formats.onnx.importer import import_loaded
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.passes import run_pass

PASSES = ("shape-inference-onnx", "legalize-onnx", "fuse-onnx", "convert-onnx-to-krnl")


class Kernel(NamedTuple):
    """A kernel without its sizes."""

    name: str
    loops: int
    """Number of loops, those within others included."""
    ops: frozenset[str]


def kernels(body: str) -> tuple[list[Kernel], int]:
    """The kernels of a model, given as the text of its graph, and their number of ops."""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]> g {body}')
    context = new_context()
    module = import_loaded(LoadedModel.of(model), context, False)
    for name in PASSES:
        run_pass(name, context, module)
    found: list[Kernel] = []
    size = 0
    for op in module.ops:
        if op.attributes.get("sym_visibility") is None and op.properties.get("sym_visibility") is None:
            continue
        names = [each.name for each in op.walk()]
        loops = sum(len(each.results) for each in op.walk() if each.name == "krnl.define_loops")
        symbol = str(op.properties["sym_name"]).strip('"')
        size += len(names)
        found.append(Kernel(re.sub(r"_\d+$", "", symbol), loops, frozenset(names)))
    return found, size


def lrn(size: int) -> str:
    return f"(float[1,64,4,4] x) => (float[1,64,4,4] y) {{ y = LRN <size = {size}> (x) }}"


def pooled(operator: str, element: str) -> Callable[[tuple[int, int]], str]:
    def body(window: tuple[int, int]) -> str:
        kernel = f"kernel_shape = [{window[0]}, {window[1]}], strides = [3, 3]"
        return f"({element}[1,16,20,70] x) => ({element}[1,16,h,w] y) {{ y = {operator} <{kernel}> (x) }}"

    return body


def depthwise(window: tuple[int, int]) -> str:
    height, width = window
    return (
        f"(float[1,16,20,20] x, float[16,1,{height},{width}] w) => (float[1,16,h,v] y)"
        " { y = Conv <group = 16> (x, w) }"
    )


def top_k(count: int, size: int) -> str:
    return (
        f"(float[3,{size}] x) => (float[3,{count}] y, int64[3,{count}] i) <int64[1] k = {{{count}}}>"
        " { y, i = TopK(x, k) }"
    )


def grid_sample(mode: str, rank: int) -> str:
    sizes = ",".join(["3"] * rank)
    return (
        f"(float[1,1,{sizes}] x, float[1,{sizes},{rank}] p) => (float[1,1,{sizes}] y)"
        f' {{ y = GridSample <mode = "{mode}"> (x, p) }}'
    )


def chain(length: int) -> str:
    nodes = " ".join(f"v{index + 1} = Sin(v{index})" for index in range(length))
    return f"(float[4,100] v0) => (float[4,100] v{length}) {{ {nodes} }}"


def element_wise(size: int) -> str:
    return f"(float[{size}] x) => (float[{size}] y) {{ y = Tanh(x) }}"


def encoded(span: int, count: int) -> str:
    keys = [*range(count - 1), span - 1]
    values = list(range(count))
    return (
        "(int64[9] x) => (int64[9] y)"
        f" {{ y = ai.onnx.ml.LabelEncoder <keys_int64s = {keys}, values_int64s = {values}> (x) }}"
    )


def lstm(steps: int) -> str:
    ones = ", ".join(["1"] * 64)
    return (
        f"(float[{steps},1,4] x) => (float[{steps},1,1,4] y)"
        f" <float[1,16,4] w = {{{ones}}}, float[1,16,4] r = {{{ones}}}>"
        " { y = LSTM <hidden_size = 4> (x, w, r) }"
    )


def trees(targets: int) -> str:
    return f"""(float[20,2] x) => (float[20,{targets}] y)
        {{ y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = {targets}, nodes_treeids = [0,0,0],
            nodes_nodeids = [0,1,2], nodes_featureids = [0,0,0], nodes_values = [0.5,0.0,0.0],
            nodes_modes = ["BRANCH_LEQ","LEAF","LEAF"], nodes_truenodeids = [1,0,0],
            nodes_falsenodeids = [2,0,0], target_treeids = [0,0], target_nodeids = [1,2],
            target_ids = [0,{targets - 1}], target_weights = [1.0,2.0]> (x) }}"""


def suppressed(boxes: int) -> str:
    return (
        f"(float[1,{boxes},4] b, float[1,1,{boxes}] s) => (int64[n,3] y) <int64 m = {{5}}>"
        " { y = NonMaxSuppression(b, s, m) }"
    )


def transposed(size: int) -> str:
    return f"(float[64,{size}] x) => (float[{size},64] y) {{ y = Transpose <perm = [1, 0]> (x) }}"


CASES: dict[str, tuple[Callable[..., str], Sequence[object], Sequence[object], Sequence[object]]] = {
    "LRN": (lrn, [5], [32], [33]),
    "MaxPool": (pooled("MaxPool", "float"), [(1, 63)], [(1, 64)], [(1, 65)]),
    "AveragePool": (pooled("AveragePool", "float"), [(8, 7)], [(8, 8)], [(5, 13)]),
    "depthwise": (depthwise, [(8, 7)], [(8, 8)], [(5, 13)]),
    "TopK, keys": (top_k, [7, 256], [8, 256], [9, 256]),
    "TopK, long": (top_k, [9, 10], [9, 19], [9, 20]),
    "TopK, few": (top_k, [8, 17], [8, 16], [8, 15]),
    "linear GridSample": (grid_sample, ["linear", 2], ["linear", 6], ["linear", 7]),
    "cubic GridSample": (grid_sample, ["cubic", 2], ["cubic", 3], ["cubic", 4]),
    "trees": (trees, [7], [8], [9]),
    "fused": (chain, [39], [40], [41]),
    "chunks": (element_wise, [5000], [8191], [8192]),
    "table": (encoded, [500, 10], [1024, 10], [1025, 10]),
    "long table": (encoded, [1500, 200], [1600, 200], [1601, 200]),
    "LSTM": (lstm, [40], [512], [513]),
    "NonMaxSuppression": (suppressed, [10], [19], [20]),
    "Transpose": (transposed, [2], [3], [4]),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels_change_beyond_their_limit(name: str):
    body, below, limit, beyond = CASES[name]
    (smaller, _), (largest, size), (others, other_size) = (
        kernels(body(*arguments)) for arguments in (below, limit, beyond)
    )
    assert smaller == largest
    # Loops instead of unrolled code are fewer ops, though they do more.
    assert others != largest or other_size < size / 2
