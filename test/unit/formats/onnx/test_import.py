"""What the importer makes of models, right and wrong ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, f16, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.locations import node_name, output_names
from xonnc.dialects.onnx.ops.builtin import CustomOp, NoValueOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import unranked
from xonnc.errors import XonncError
from xonnc.formats.onnx.compare import models_equal
from xonnc.formats.onnx.exporter import export_model, export_proto
from xonnc.formats.onnx.importer import import_loaded, import_model, import_proto
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.formats.onnx.payload_extraction import varint
from xonnc.formats.onnx.save_model import ExternalData
from xonnc.formats.onnx.tensors import proto
from xonnc.simplifier import simplify


@pytest.fixture
def ctx() -> Context:
    """A context with the onnx dialect."""
    made = Context()
    made.register_dialect("onnx", get_onnx)
    return made


def parse(body: str, opset: int = 17, ir_version: int = 8) -> onnx.ModelProto:
    """A model from the text of its graph."""
    head = f'<ir_version: {ir_version}, opset_import: ["" : {opset}, "com.acme" : 1]>'
    return onnx.parser.parse_model(head + body)


def body(module: ModuleOp) -> list[Operation]:
    """The ops of the main function."""
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    return list(function.body.block.ops)


def same(model: onnx.ModelProto, ctx: Context) -> ModuleOp:
    """The module of a model that comes back equal."""
    module = import_proto(model, ctx)
    assert models_equal(model, export_proto(module)) == []
    return module


def test_names_are_locations(ctx: Context) -> None:
    module = same(parse("g (float[2] x) => (float[2] y) { [first] t = Relu (x)  y = Abs (t) }"), ctx)
    relu, absolute, _ = body(module)
    assert (node_name(relu), output_names(relu)) == ("first", ("t",))
    assert (node_name(absolute), output_names(absolute)) == ("", ("y",))


def test_absent_operands_and_results_keep_their_places(ctx: Context) -> None:
    model = parse("g (float[2] x, float m) => (float[2] y) { y = Clip (x, , m) }")
    model.graph.node.add(op_type="Clip", input=["x", "", ""], output=["z"])
    model.graph.node.add(op_type="Dropout", input=["x"], output=["d", ""])
    module = same(model, ctx)
    assert sum(isinstance(op, NoValueOp) for op in body(module)) == 1


def test_constants_are_initializers_unless_they_were_nodes(ctx: Context) -> None:
    model = parse(
        "g () => (float[2] y) <float[2] w = {1, 2}>"
        "{ k = Constant <value = float[2] {3, 4}> () y = Add (w, k) }"
    )
    constants = [op for op in body(same(model, ctx)) if isinstance(op, ConstantOp)]
    assert ["onnx.node" in op.attributes for op in constants] == [False, True]


def test_weights_listed_as_inputs_stay_so(ctx: Context) -> None:
    model = parse("g (float[2] w, float[2] x) => (float[2] y) { y = Add (x, w) }", ir_version=3)
    model.graph.initializer.append(proto(np.float32(1) * np.ones(2, np.float32), "w"))
    model.graph.input[0].doc_string = "a weight"
    function = next(op for op in same(model, ctx).ops if isinstance(op, FuncOp))
    assert len(function.body.block.args) == 1


def test_unknown_domains_are_custom(ctx: Context) -> None:
    model = parse(
        "g (float[2] x) => (float[2] y) { y = com.acme.Spline <knots = [1, 2], w: tensor = float {1.5}> (x) }"
    )
    attribute = model.graph.node[0].attribute.add(name="empty", type=onnx.AttributeProto.STRINGS)
    assert not attribute.strings
    model.graph.node[0].attribute.add(name="function_name", type=onnx.AttributeProto.INT, i=3)
    model.graph.node[0].overload = "o"
    custom = body(same(model, ctx))[0]
    assert isinstance(custom, CustomOp)
    assert custom.function_name == StringAttr("Spline")


def test_unknown_operators_of_the_default_domain_are_custom(ctx: Context) -> None:
    custom = body(same(parse("g (float[2] x) => (float[2] y) { y = Reluu <alpha = 1.5> (x) }"), ctx))[0]
    assert isinstance(custom, CustomOp)
    assert custom.function_name == StringAttr("Reluu")


def test_functions_are_kept_or_inlined(ctx: Context) -> None:
    model = parse("""g (float[2] x) => (float[2] y) { y = com.acme.f <a = 0.5> (x) }
        <domain: "com.acme", opset_import: ["" : 17]>
        f <a> (p) => (q) { q = LeakyRelu <alpha: float = @a> (p) }""")
    same(model, ctx)
    assert inlined_names(model, ctx) == ["onnx.LeakyRelu", "onnx.Return"]


@pytest.mark.parametrize("imports", ['"" : 17, "com.acme" : 17', '"" : 14', '"" : 13, "com.acme" : 5'])
def test_functions_of_other_opsets_are_inlined(ctx: Context, imports: str) -> None:
    """jax2onnx imports a function's own domain at the version of the default domain."""
    model = parse(f"""g (float[2] x) => (float[2] y) {{ z = com.acme.f (x)  y = com.acme.f (z) }}
        <domain: "com.acme", opset_import: [{imports}]>
        f (p) => (q) {{ r = com.acme.g (p)  q = Relu (r) }}
        <domain: "com.acme", opset_import: [{imports}]>
        g (p) => (q) {{ q = Sigmoid (p) }}""")
    given = model.SerializeToString(deterministic=True)
    assert inlined_names(model, ctx) == 2 * ["onnx.Sigmoid", "onnx.Relu"] + ["onnx.Return"]
    assert model.SerializeToString(deterministic=True) == given


def test_inlined_nodes_are_of_the_opset_of_their_function(ctx: Context) -> None:
    model = parse("""g (float[2, 3, 4] x) => (float[2, 3, 4] y) {
            s = Softmax (x)  c = Abs (s)  z = com.acme.f (c)  y = com.acme.f (z)
        }
        <domain: "com.acme", opset_import: ["" : 12]>
        f (p) => (q) { r = com.acme.g (p)  q = Relu (r) }
        <domain: "com.acme", opset_import: ["" : 12]>
        g (p) => (q) { q = Softmax (p) }""")
    ops = inlined_names(model, ctx)
    assert ops == ["onnx.Softmax", "onnx.Abs", *2 * ["onnx.SoftmaxV11", "onnx.Relu"], "onnx.Return"]


def test_functions_of_other_versions_of_foreign_domains_are_inlined(ctx: Context) -> None:
    model = parse("""g (float[2, 3] x) => (float[2, 3] y) { z = ai.onnx.ml.Scaler (x)  y = com.acme.f (z) }
        <domain: "com.acme", opset_import: ["ai.onnx.ml" : 1, "com.other" : 3]>
        f (p) => (q) { r = com.other.Own (p)  q = ai.onnx.ml.Scaler (r) }""")
    model.opset_import.add(domain="ai.onnx.ml", version=3)
    model.opset_import.add(domain="com.other", version=1)
    assert inlined_names(model, ctx) == ["onnx.Scaler", "onnx.Custom", "onnx.Scaler", "onnx.Return"]


def test_results_of_functions_have_the_types_of_their_bodies(ctx: Context) -> None:
    """An embedding takes integers and gives floats; a guess by the operand made the next function invalid."""
    model = parse("""g (int32[N] x) => (float y) { a = com.acme.outer (x)  y = Identity (a) }
        <domain: "com.acme", opset_import: ["" : 17, "com.acme" : 1]>
        outer (p) => (q) { r = com.acme.inner (p)  t = Transpose (r)  q = MatMul (t, r) }
        <domain: "com.acme", opset_import: ["" : 17]>
        inner (p) => (q) { c = Constant <value = float[2, 1] {1.0, 2.0}> ()  q = Gather (c, p) }""")
    call = body(same(model, ctx))[0]
    assert call.result_types == (unranked(f32),)
    simplify(model, inline_functions=False)


def inlined_names(model: onnx.ModelProto, ctx: Context) -> list[str]:
    """The ops of a model whose functions are inlined."""
    return [op.name for op in body(import_loaded(LoadedModel.of(model), ctx, inline_functions=True))]


def test_everything_else_comes_back(ctx: Context) -> None:
    model = parse("g (float[N, 2] x) => (float[N, 2] y) <float[N, 2] t> { t = Relu (x)  y = Abs (t) }")
    model.training_info.add().initialization.node.add(op_type="Relu", input=["a"], output=["b"])
    model.graph.quantization_annotation.add(tensor_name="x").quant_parameter_tensor_names.add(
        key="S", value="s"
    )
    model.graph.node[0].doc_string = "what it does"
    model.graph.node[0].metadata_props.add(key="k", value="v")
    model.graph.node[0].device_configurations.add(configuration_id="c", pipeline_stage=2)
    model.configuration.add(name="c", num_devices=2)
    model.graph.input[0].type.denotation = "IMAGE"
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    model.graph.output[0].metadata_props.add(key="k", value="v")
    model.graph.metadata_props.add(key="k", value="v")
    model.graph.initializer.append(proto(np.array(["ä", "b"], np.object_), "s"))
    model.graph.initializer[0].doc_string = "strings"
    sparse = model.graph.sparse_initializer.add(dims=[2, 3])
    sparse.values.CopyFrom(proto(np.ones(2, np.float32), "sp"))
    sparse.indices.CopyFrom(proto(np.array([[0, 1], [1, 2]])))
    for kind in ("sequence_type", "optional_type"):
        info = model.graph.input.add(name=kind)
        getattr(info.type, kind).elem_type.tensor_type.elem_type = 1
    model.graph.input.add(name="map").type.map_type.key_type = 7
    model.graph.input[-1].type.map_type.value_type.tensor_type.elem_type = 1
    same(model, ctx)


def test_strings_may_be_any_bytes(ctx: Context) -> None:
    model = parse(
        'g (float[2] x) => (float[2] y) { y = com.acme.F <a = "b", f = -0.0, n = 1.0, l = ["c"]> (x) }'
    )
    attributes = model.graph.node[0].attribute
    attributes[0].s = b'\xff\x00a"\\'
    attributes[2].f = float("nan")
    attributes[3].strings[0] = b"\xfe"
    model.graph.initializer.add(name="s", data_type=8, dims=[2], string_data=[b"\xff\xfe", "ä".encode()])
    sparse = model.graph.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(onnx.TensorProto(name="sp", data_type=8, dims=[1], string_data=[b"\xff"]))
    sparse.indices.CopyFrom(proto(np.array([[2]])))
    same(model, ctx)


def test_unsorted_graphs_are_sorted(ctx: Context) -> None:
    model = parse("g (float[2] x) => (float[2] y) { t = Relu (x)  y = Abs (t) }")
    nodes = list(model.graph.node)
    model.graph.ClearField("node")
    model.graph.node.extend(reversed(nodes))
    assert [op.name for op in body(import_proto(model, ctx))] == ["onnx.Relu", "onnx.Abs", "onnx.Return"]


def test_bodies_see_the_graph_around_them(ctx: Context) -> None:
    model = parse("""g (bool c, float[2] x) => (float[2] y) { a = Abs (x)
        y = If (c) <then_branch = t () => (float[2] p) { p = Relu (a) },
                    else_branch = e () => (float[2] p) { b = Neg (a) p = Add (b, x) }> }""")
    same(model, ctx).verify()


def test_weights_are_views_of_the_file(ctx: Context, tmp_path: Path) -> None:
    weights = np.arange(1 << 16, dtype=np.float32)
    model = parse("g (float[65536] x) => (float[65536] y) { y = Add (x, w) }")
    model.graph.initializer.append(proto(weights, "w"))
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    constant = body(import_model(path, ctx))[0]
    assert isinstance(constant, ConstantOp)
    assert constant.value is not None
    array = elements_array(constant.value)
    assert array is not None
    assert not array.flags.owndata
    np.testing.assert_array_equal(array, weights)
    assert ctx.get_dialect("onnx") is not None


def test_models_past_two_gigabytes_are_mapped(ctx: Context, tmp_path: Path) -> None:
    elements = 3 << 28
    model = parse(f"g (float[{elements}] x) => (float[{elements}] y) {{ y = Add (x, w) }}")
    graph = model.graph.SerializeToString()
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[elements]).SerializeToString()
    model.ClearField("graph")
    payload = b"\x4a" + varint(4 * elements)
    frame = b"\x2a" + varint(len(tensor) + len(payload) + 4 * elements) + tensor + payload
    head = (
        model.SerializeToString() + b"\x3a" + varint(len(graph) + len(frame) + 4 * elements) + graph + frame
    )
    path = tmp_path / "huge.onnx"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + 4 * elements)
    constant = body(import_model(path, ctx))[0]
    assert isinstance(constant, ConstantOp)
    assert constant.value is not None
    array = elements_array(constant.value)
    assert array is not None
    assert (array.shape, array.nbytes) == ((elements,), 3 << 30)
    assert array[-1] == 0


def test_external_data_both_ways(ctx: Context, tmp_path: Path) -> None:
    model = parse("g (float[512] x) => (float[512] y) { t = Add (x, w)  y = Mul (t, s) }")
    model.graph.initializer.append(proto(np.arange(512, dtype=np.float32), "w"))
    model.graph.initializer.append(proto(np.ones(512, np.float32), "s"))
    path = tmp_path / "m.onnx"
    written = export_model(import_proto(model, ctx), path, external_data=ExternalData("w.bin"))
    assert written == [path, tmp_path / "w.bin"]
    assert path.stat().st_size < 500
    reference = vars(onnx)["load"](path)
    assert reference.graph.initializer[1].raw_data == model.graph.initializer[1].raw_data
    assert models_equal(path, model) == []
    again = import_model(path, ctx)
    assert export_model(again, path) == [path]
    assert models_equal(path, model) == []


@pytest.mark.parametrize("suffix", [".onnx", ".onnxtxt", ".json"])
def test_every_spelling_is_read_and_written(ctx: Context, tmp_path: Path, suffix: str) -> None:
    model = parse("g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 2}> { [n] y = Add (x, w) }")
    path = tmp_path / f"m{suffix}"
    export_model(import_proto(model, ctx), path)
    if suffix != ".onnx":
        path.write_text("// a remark\n" + path.read_text())
    assert models_equal(path, model) == []
    assert isinstance(import_model(path, ctx), ModuleOp)


X2Y = "g (float[2] x) => (float[2] y) "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (X2Y + "{ [a] t = Add (x, u) [b] u = Relu (t) y = Abs (u) }", "the graph has a cycle: b -> a -> b"),
        (X2Y + "{ y = Add (x, y) }", "the graph has a cycle: y -> y"),
        (X2Y + "{ y = Add (x, q) }", r"y \(Add\): input 'q' is made by no node"),
        (X2Y + "{ t = Abs (x) }", "output 'y' is made by no node"),
        (X2Y + "{ y = Abs (x) y = Relu (x) }", r"y \(Relu\): value 'y' is defined twice"),
        (X2Y + "{ y = Gelu (x) }", "the model's opset is 17, and this operator came with opset 20"),
        (X2Y + "{ y = Relu (x, x) }", "2 inputs where the operator takes at most 1"),
        (X2Y + "{ y, z = Relu (x) }", "2 outputs where the operator has at most 1"),
        (
            X2Y + '{ y = LeakyRelu <alpha = "a"> (x) }',
            "attribute 'alpha' is of kind STRING; the operator takes FLOAT",
        ),
        (X2Y + "{ y = Cast <to = 77> (x) }", "attribute 'to': 77 is not an element type"),
        (
            X2Y + "{ y = If (x) <then_branch = t () => (float[2] p) { p = Abs (x) }> }",
            "attribute 'else_branch' is missing",
        ),
        (
            "g (float[4294967296, 4294967296] x) => (float[2] y) { y = Abs (x) }",
            "input 'x': shape .* overflows",
        ),
    ],
)
def test_wrong_models_are_refused_in_one_line(ctx: Context, text: str, message: str) -> None:
    with pytest.raises(XonncError, match=message) as caught:
        import_proto(parse(text), ctx)
    assert "\n" not in str(caught.value)


def test_a_weight_whose_size_overflows_is_refused(ctx: Context) -> None:
    model = parse(X2Y + "{ y = Add (x, w) }")
    model.graph.initializer.add(name="w", data_type=1, dims=[1 << 40, 1 << 40], raw_data=b"")
    with pytest.raises(XonncError, match=r"tensor 'w': shape .* overflows"):
        import_proto(model, ctx)


def test_opsets_are_checked(ctx: Context) -> None:
    with pytest.raises(XonncError, match=r"opset 99 of domain 'ai.onnx': this release knows 1 to"):
        import_proto(parse(X2Y + "{ y = Abs (x) }", opset=99), ctx)
    with pytest.raises(XonncError, match=r"opset 0 of domain 'ai.onnx': versions count from 1"):
        import_proto(parse(X2Y + "{ y = Abs (x) }", opset=0), ctx)


def test_opaque_types_are_refused(ctx: Context) -> None:
    model = parse(X2Y + "{ y = Abs (x) }")
    model.graph.input[0].type.opaque_type.name = "o"
    with pytest.raises(XonncError, match="input 'x': the type opaque_type is opaque"):
        import_proto(model, ctx)


def test_inputs_have_a_type(ctx: Context) -> None:
    model = parse(X2Y + "{ y = Abs (x) }")
    model.graph.input[0].ClearField("type")
    with pytest.raises(XonncError, match="input 'x' has no type; an input of a model needs an element type"):
        import_proto(model, ctx)


def test_undefined_element_types_declare_nothing(ctx: Context) -> None:
    model = parse(X2Y + "{ t = Abs (x) y = Neg (t) }")
    unknown = onnx.helper.make_tensor_value_info("t", onnx.TensorProto.UNDEFINED, None)
    model.graph.value_info.append(unknown)
    model.graph.output[0].CopyFrom(unknown)
    model.graph.output[0].name = "y"
    assert [op.results[0].type for op in body(import_proto(model, ctx))[:2]] == [unranked(f32)] * 2
    model.graph.input[0].CopyFrom(unknown)
    model.graph.input[0].name = "x"
    with pytest.raises(XonncError, match="input 'x' has no type; an input of a model needs an element type"):
        import_proto(model, ctx)


def test_line_ends_in_names_are_escaped(ctx: Context) -> None:
    model = parse(X2Y + "{ y = Abs (x) }")
    model.graph.input[0].name = model.graph.node[0].input[0] = "a\nb\r"
    model.graph.input[0].ClearField("type")
    with pytest.raises(XonncError, match=r"input 'a\\nb\\r' has no type") as caught:
        import_proto(model, ctx)
    assert "\n" not in str(caught.value)


def test_names_are_text(ctx: Context) -> None:
    data = parse(X2Y + "{ [abc] y = Abs (x) }").SerializeToString().replace(b"abc", b"a\xffc")
    with pytest.raises(XonncError, match=r"the name b'a\\xffc' is not UTF-8 text"):
        import_proto(onnx.ModelProto.FromString(data), ctx)


def test_a_state_that_is_only_given_back_has_the_type_of_the_first_operand(ctx: Context) -> None:
    """`S` of LinearAttention is the type of `past_state`, which may be left out."""
    text = """g (float16[1,3,4] q, float16[1,3,4] k, float16[1,3,4] v) => (float16[1,2,2,2] y) {
        o, s = LinearAttention <q_num_heads = 2, kv_num_heads = 2, update_rule = "linear"> (q, k, v)
        y = Neg (s)
    }"""
    attention, *_ = (op for op in body(same(parse(text, opset=27), ctx)) if op.name == "onnx.LinearAttention")
    assert attention.results[1].type == unranked(f16)
    attention.verify()
