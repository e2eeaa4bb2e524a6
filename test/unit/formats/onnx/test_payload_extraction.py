"""The walk that cuts payloads out of a serialised model."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import pytest

from xonnc.errors import XonncError
from xonnc.formats.onnx.external_data import DataFolder
from xonnc.formats.onnx.load_model import load, parse
from xonnc.formats.onnx.payload_extraction import (
    MIN_PAYLOAD_BYTES,
    PayloadLocation,
    PayloadMarkers,
    varint,
    without_payloads,
)
from xonnc.formats.onnx.tensors import proto

BIG = np.arange(1024, dtype=np.float32)
SMALL = np.arange(4, dtype=np.float32)


def body(tensor: onnx.TensorProto) -> onnx.GraphProto:
    """A subgraph with one constant."""
    return onnx.helper.make_graph(
        [onnx.helper.make_node("Constant", [], ["c"], value=tensor)], "body", [], []
    )


def everywhere() -> onnx.ModelProto:
    """A model with a big tensor in every place that can hold one."""
    sparse = onnx.SparseTensorProto(values=proto(BIG, "s"), indices=proto(np.arange(1024), "i"), dims=[2048])
    nodes = [
        onnx.helper.make_node("Constant", [], ["a"], value=proto(BIG)),
        onnx.helper.make_node("Constant", [], ["b"], sparse_value=sparse),
        onnx.helper.make_node(
            "If", ["c"], ["d"], then_branch=body(proto(BIG)), else_branch=body(proto(SMALL))
        ),
    ]
    graph = onnx.helper.make_graph(nodes, "g", [], [], [proto(BIG, "w"), proto(SMALL, "v")])
    graph.sparse_initializer.add().CopyFrom(sparse)
    function = onnx.FunctionProto(name="f", domain="d", node=nodes[:1])
    return onnx.helper.make_model(graph, functions=[function])


def tensors(message: onnx.ModelProto) -> list[onnx.TensorProto]:
    """The tensors of `everywhere`, in a fixed order."""
    graph = message.graph
    then = graph.node[2].attribute[0].g
    return [
        *graph.initializer,
        graph.node[0].attribute[0].t,
        graph.node[1].attribute[0].sparse_tensor.values,
        then.node[0].attribute[0].t,
        graph.sparse_initializer[0].values,
        graph.sparse_initializer[0].indices,
        message.functions[0].node[0].attribute[0].t,
    ]


def test_payloads_are_cut_in_every_place(tmp_path: Path) -> None:
    model = everywhere()
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    loaded = load(path)
    assert loaded.proto.ByteSize() < model.ByteSize() / 4
    for cut, whole in zip(tensors(loaded.proto), tensors(model), strict=True):
        assert (loaded.tensors.marks.read(cut.raw_data) is None) == (len(whole.raw_data) < MIN_PAYLOAD_BYTES)
        array = loaded.tensors.array(cut)
        np.testing.assert_array_equal(array, onnx.numpy_helper.to_array(whole))
        assert not array.flags.writeable


@pytest.mark.parametrize("kind", ["float_data", "double_data"])
def test_packed_floats_are_cut_too(kind: str) -> None:
    double = kind == "double_data"
    tensor = onnx.TensorProto(name="w", dims=[1024], data_type=11 if double else 1)
    getattr(tensor, kind).extend(BIG.tolist())
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], [tensor]))
    loaded = parse(memoryview(model.SerializeToString()), "onnx", "m", DataFolder(None))
    cut = loaded.tensors.marks.read(loaded.proto.graph.initializer[0].raw_data)
    assert cut is not None
    np.testing.assert_array_equal(loaded.tensors.array(loaded.proto.graph.initializer[0]), BIG)


def test_a_payload_in_two_pieces_is_left_to_protobuf() -> None:
    tensor = proto(BIG, "w").SerializeToString()
    twice = tensor + onnx.TensorProto(raw_data=(BIG + 1).tobytes()).SerializeToString()
    graph = b"\x2a" + varint(len(twice)) + twice
    whole = b"\x3a" + varint(len(graph)) + graph
    loaded = parse(memoryview(whole), "onnx", "m", DataFolder(None))
    np.testing.assert_array_equal(loaded.tensors.array(loaded.proto.graph.initializer[0]), BIG + 1)


def test_no_file_can_hold_a_mark() -> None:
    forged = PayloadMarkers().write(PayloadLocation(9, 0, 1 << 40))
    assert PayloadMarkers().read(forged) is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x3a\xff\xff\x7f", "a field of 2097151 bytes where 0 are left"),
        (b"\x3a\x80", "the file ends within a number"),
        (b"\x80" * 11, "a number longer than 64 bits"),
        (b"\x0b", "field 1 of kind 3"),
        (b"\x09\x00", "a field of 8 bytes where 1 are left"),
    ],
)
def test_damage_is_named(data: bytes, message: str) -> None:
    with pytest.raises(XonncError, match=message):
        without_payloads(memoryview(data), PayloadMarkers())


@pytest.mark.parametrize(
    ("data", "spelling", "message"),
    [
        (b"", "onnx", "no graph in it"),
        (b"\x02\x00", "onnx", "protobuf cannot decode"),
        (b"ir_version: 8", "onnxtxt", "not ONNX text"),
        (b"[1]", "json", "not an ONNX model in JSON"),
        (b"\xff\xfe", "json", "not UTF-8"),
    ],
)
def test_what_is_no_model_is_refused_in_one_line(data: bytes, spelling: str, message: str) -> None:
    assert spelling in ("onnx", "onnxtxt", "json")
    with pytest.raises(XonncError, match=message) as caught:
        parse(memoryview(data), spelling, "m.onnx", DataFolder(None))
    assert str(caught.value).startswith("m.onnx: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(XonncError, match=r"none\.onnx: cannot be read: No such file"):
        load(tmp_path / "none.onnx")
    with pytest.raises(XonncError, match="is a folder; it must be a file"):
        load(tmp_path)


def test_varints_read_back() -> None:
    generator = random.Random(1)
    for _ in range(100):
        value = generator.getrandbits(generator.randint(1, 60))
        message = onnx.ModelProto.FromString(b"\x08" + varint(value))
        assert message.ir_version == value
