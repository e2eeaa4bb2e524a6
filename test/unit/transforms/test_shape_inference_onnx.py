"""Shape inference against the types that onnx's own node tests declare."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from functools import cache

import onnx
import onnx.backend.test.loader
import onnx.parser
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, Builtin, ModuleOp, TensorType, f32
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import Attribute

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, is_ranked, is_tensor, tensor_type, unranked
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.onnx_shape_inference import infer_results
from xonnc.rewriting.editing import retype
from xonnc.rewriting.onnx import op_class
from xonnc.transforms.onnx_package_hooks import use_inference
from xonnc.transforms.shape_inference_onnx import InferredOps, infer_shapes, learn_shapes, merge
from xonnc.transforms.shapes.inference_context import SHAPE_FUNCTIONS, InferenceContext, ShapeError, Types

use_inference(infer_results)


@cache
def node_tests() -> Mapping[str, onnx.ModelProto]:
    """Return models of single operators with static types, which onnx declares; making them takes seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        cases = onnx.backend.test.loader.load_model_tests(kind="node")
    return {case.name: case.model for case in cases if case.model is not None}


def imported(model: onnx.ModelProto) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    return import_proto(model, context)


def forgotten(module: ModuleOp) -> tuple[FuncOp, list[Attribute]]:
    """The main function without any result type, and the types that its results had."""
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    end = function.body.block.last_op
    assert end is not None
    declared = [operand.type for operand in end.operands]
    for op in function.body.walk():
        if isinstance(op, OnnxOp) and not isinstance(op, ConstantOp):
            for result in op.results:
                element = element_type(result.type)
                if element is not None:
                    retype(result, unranked(element))
    return function, declared


def agreement(declared: Attribute, inferred: Attribute) -> str:
    """Whether an inferred type is what was declared, less or more exact, or wrong."""
    if declared == inferred:
        return "equal"
    if not is_tensor(declared) or not is_tensor(inferred) or not is_ranked(declared):
        return "not compared"
    if element_type(declared) != element_type(inferred):
        return "wrong"
    if not is_ranked(inferred):
        return "rank unknown"
    if len(declared.get_shape()) != len(inferred.get_shape()):
        return "wrong"
    pairs = list(zip(declared.get_shape(), inferred.get_shape(), strict=True))
    if any(DYNAMIC_INDEX not in pair and pair[0] != pair[1] for pair in pairs):
        return "wrong"
    return "less exact" if any(new == DYNAMIC_INDEX != old for old, new in pairs) else "more exact"


@cache
def verdicts() -> dict[str, str]:
    """The verdict on each node test; the worst of its results."""
    order = ("wrong", "rank unknown", "less exact", "not compared", "more exact", "equal")
    found: dict[str, str] = {}
    for name, model in node_tests().items():
        try:
            module = imported(model)
        except XonncError:
            continue
        function, declared = forgotten(module)
        infer_shapes(module)
        end = function.body.block.last_op
        assert end is not None
        pairs = zip(declared, end.operands, strict=True)
        found[name] = min((agreement(old, new.type) for old, new in pairs), key=order.index, default="equal")
    return found


def test_no_inferred_type_contradicts_the_declared_one() -> None:
    wrong = [name for name, verdict in verdicts().items() if verdict == "wrong"]
    assert not wrong


def test_most_types_are_found_again() -> None:
    counts = Counter(verdicts().values())
    assert counts["equal"] >= 1400
    assert counts["rank unknown"] <= 300


def test_every_shape_function_is_of_an_op() -> None:
    unknown = [name for name in SHAPE_FUNCTIONS if op_class(name) is None]
    assert not unknown


def ctx() -> InferenceContext:
    identity = op_class("Identity")
    assert identity is not None
    argument = FuncOp("main_graph", ([unranked(f32)], [])).args[0]
    return InferenceContext(identity.create(operands=[argument], result_types=[unranked(f32)]))


@pytest.mark.parametrize(
    ("known", "inferred", "merged"),
    [
        ((DYNAMIC_INDEX, 3), (2, DYNAMIC_INDEX), (2, 3)),
        ((), (1,), (1,)),
        ((1,), (), ()),
    ],
)
def test_merging_keeps_every_known_size(
    known: tuple[int, ...], inferred: tuple[int, ...], merged: tuple[int, ...]
) -> None:
    found = merge(ctx(), tensor_type(known, f32), tensor_type(inferred, f32))
    assert found == TensorType(f32, merged)


@pytest.mark.parametrize("inferred", [(2, 4), (2, 3, 1)])
def test_a_contradiction_names_both_types(inferred: tuple[int, ...]) -> None:
    with pytest.raises(
        ShapeError, match=r"onnx.Identity: Identity: the result is declared tensor<2x3xf32>, but"
    ):
        merge(ctx(), tensor_type((2, 3), f32), tensor_type(inferred, f32))


def two_relus() -> ModuleOp:
    return imported(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["": 17]>'
            " g (float[2,3] x) => (float[a,b] z) { y = Relu(x) z = Relu(y) }"
        )
    )


def test_what_is_settled_is_inferred_once(monkeypatch: pytest.MonkeyPatch):
    module, settled = two_relus(), InferredOps()
    asked: list[InferenceContext] = []
    relu = SHAPE_FUNCTIONS["Relu"]

    def counted(ctx: InferenceContext) -> Types:
        asked.append(ctx)
        return relu(ctx)

    monkeypatch.setitem(SHAPE_FUNCTIONS, "Relu", counted)
    assert learn_shapes(module, settled)[0]
    assert len(asked) == 2
    assert not learn_shapes(module, settled)[0]
    assert len(asked) == 2


def test_what_reads_other_types_is_inferred_again():
    module, settled = two_relus(), InferredOps()
    learn_shapes(module, settled)
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    relus = [op for op in function.body.walk() if op.name == "onnx.Relu"]
    retype(function.body.block.args[0], tensor_type((5, 3), f32))
    for relu in relus:
        retype(relu.results[0], unranked(f32))
    assert learn_shapes(module, settled)[0]
    assert [relu.results[0].type for relu in relus] == [tensor_type((5, 3), f32)] * 2


def test_what_is_settled_keeps_no_tensor_in_memory():
    module, settled = (
        imported(
            onnx.parser.parse_model(
                '<ir_version: 8, opset_import: ["": 17]>'
                " g (int64[1] n, float[2] x) => (float[a] y, float[b] z)"
                " { y = ConstantOfShape <value: tensor = float[1] {3}> (n) z = Relu(x) }"
            )
        ),
        InferredOps(),
    )
    learn_shapes(module, settled)
    assert [op.name for op in settled] == ["onnx.Relu"]


@pytest.mark.parametrize(
    ("graph", "shape"),
    [
        (
            "(string[a, b] x) => (string[i, j] y) { y = StringNormalizer (x) }",
            [DYNAMIC_INDEX, DYNAMIC_INDEX],
        ),
        (
            "(float[1, 1, a, b] x, int64[n] s) => (float[i, j, k, l] y) { y = Resize (x, , , s) }",
            [DYNAMIC_INDEX] * 4,
        ),
        (
            "(float[2, q, 24] x, float[2, k, 24] w, float[v, k, h] z) => (float[i, j, l] y)"
            "{ y = Attention <q_num_heads = 3, kv_num_heads = 3> (x, w, z) }",
            [2, DYNAMIC_INDEX, DYNAMIC_INDEX],
        ),
    ],
)
def test_what_the_onnx_package_takes_for_empty_is_unknown(graph: str, shape: list[int]):
    text = f'<ir_version: 11, opset_import: ["" : 24]> g {graph}'
    module = imported(onnx.parser.parse_model(text))
    infer_shapes(module)
    found = next(op for op in module.walk() if isinstance(op, OnnxOp) and op.operands).results[0].type
    assert is_ranked(found)
    assert list(found.get_shape()) == shape
