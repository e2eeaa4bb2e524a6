"""Damaged models: importing gives a module or one of our own errors, quickly and in little memory."""

from __future__ import annotations

import random
import resource

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx import get_onnx
from xonnc.errors import CollectedError, XonncError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.external_data import DataFolder
from xonnc.formats.onnx.importer import import_loaded
from xonnc.formats.onnx.load_model import parse
from xonnc.formats.onnx.tensors import proto

MUTATIONS = 300
"""For each of the three models."""

GROWTH = 200
"""Megabytes that all of it may add to the largest resident size."""


def subgraphs() -> onnx.ModelProto:
    """Branches, optional operands, a function, sparse and string tensors."""
    text = """<ir_version: 10, opset_import: ["" : 18, "d" : 1], metadata_props: ["a": "b"]>
    g (float[N, 4] x, bool c) => (float[N, 4] y, seq(float) s)
    <float[4] w = {1, 2, 3, 4}, int64[1] axes = {0}> {
        [first] a = Add (x, w)
        b = If (c) <then_branch = t () => (float[N, 4] q) { q = Relu (a) },
                    else_branch = e () => (float[N, 4] r) { r = Clip (a, , w) }>
        k = Constant <value_ints = [1, 2, 3]> ()
        z = d.twice <alpha = 0.5> (b)
        y = Cast <to = 1> (z)
        s = SequenceConstruct (y, x)
    }
    <domain: "d", opset_import: ["" : 18]>
    twice <alpha> (p) => (q) { h = LeakyRelu <alpha: float = @alpha> (p)  q = Add (h, h) }"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(proto(np.array([["a", "bc"]], np.object_), "names"))
    sparse = model.graph.sparse_initializer.add(dims=[4, 4])
    sparse.values.CopyFrom(proto(np.arange(2, dtype=np.float32), "sp"))
    sparse.indices.CopyFrom(proto(np.array([1, 6])))
    return model


def convolution() -> onnx.ModelProto:
    """Weights big enough to be cut out of the file."""
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=[3, 3], strides=[2, 2]),
        onnx.helper.make_node("MaxPool", ["c"], ["y"], "pool", kernel_shape=[2, 2]),
    ]
    values = [onnx.helper.make_tensor_value_info(name, 1, ["n", 8, 16, 16]) for name in ("x", "y", "c")]
    weights = [proto(np.ones((8, 8, 3, 3), np.float32), "w"), proto(np.zeros(8, np.float32), "b")]
    graph = onnx.helper.make_graph(nodes, "g", values[:1], values[1:2], weights, value_info=values[2:])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


def loop() -> onnx.ModelProto:
    """A body with captured values, carried and scanned."""
    return onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 16]>
    g (int64 n, bool c, float[4] x) => (float[4] y, float[k, 4] scan) {
        y, scan = Loop (n, c, x) <body = b (int64 i, bool k, float[4] v) => (bool o, float[4] w, float[4] t)
            { o = Identity (k)  w = Add (v, x)  t = Mul (w, w) }>
    }""")


def damaged(data: bytes, seed: int) -> bytes:
    """`data` with bytes changed, cut off, doubled, or set to what sizes look like."""
    dice = random.Random(seed)
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 8))):
        position = dice.randrange(len(changed))
        match dice.randrange(6):
            case 0:
                changed[position] ^= 1 << dice.randrange(8)
            case 1:
                changed[position] = dice.randrange(256)
            case 2:
                changed[position : position + dice.randrange(1, 9)] = b""
            case 3:
                changed[position:position] = dice.randbytes(dice.randrange(1, 9))
            case 4:
                changed[position : position + 9] = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
            case _:
                del changed[position:]
        if not changed:
            break
    return bytes(changed)


def set_fields(message: onnx.ModelProto, dice: random.Random) -> None:
    """Sets one field somewhere in a model to something else of its kind."""
    position = message
    while True:
        fields = [(field, value) for field, value in position.ListFields() if field.message_type is not None]
        if not fields or dice.random() < 0.2:
            break
        field, value = dice.choice(fields)
        position = dice.choice(list(value)) if field.is_repeated else value
    choices = [field for field in position.DESCRIPTOR.fields if field.message_type is None]
    if not choices:
        return
    field = dice.choice(choices)
    numbers = (-1, 0, 1, 7, 99, 1 << 31, 1 << 62) if field.type in (3, 4) else (-1, 0, 1, 7, 99)
    value = {9: "x", 12: b"y", 2: 1.5, 1: 1.5}.get(field.type, dice.choice(numbers))
    try:
        if field.is_repeated:
            getattr(position, field.name).append(value)
        else:
            setattr(position, field.name, value)
    except ValueError:
        position.ClearField(field.name)


def tried(data: bytes, ctx: Context) -> ModuleOp | XonncError:
    """What becomes of a file: a module, or our own error in one line."""
    try:
        module = import_loaded(parse(memoryview(data), "onnx", "fuzz.onnx", DataFolder(None)), ctx)
        export_proto(module)
        return module
    except XonncError as error:
        return error


@pytest.mark.parametrize("make", [subgraphs, convolution, loop])
@pytest.mark.parametrize("kind", ["bytes", "fields"])
def test_only_our_errors_come_out(make: object, kind: str) -> None:
    assert callable(make)
    model = make()
    assert isinstance(model, onnx.ModelProto)
    data = model.SerializeToString()
    ctx = Context()
    ctx.register_dialect("onnx", get_onnx)
    assert isinstance(tried(data, ctx), ModuleOp)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for seed in range(MUTATIONS):
        if kind == "bytes":
            changed = damaged(data, seed)
        else:
            other = onnx.ModelProto.FromString(data)
            for step in range(1 + seed % 3):
                set_fields(other, random.Random(seed * 3 + step))
            changed = other.SerializeToString()
        outcome = tried(changed, ctx)
        if isinstance(outcome, XonncError):
            refused += 1
            reasons = outcome.reasons if isinstance(outcome, CollectedError) else [str(outcome)]
            assert not any("\n" in reason for reason in reasons)
    assert refused > MUTATIONS // 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < GROWTH * 1024
