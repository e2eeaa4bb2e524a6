"""Literals of elements, read and printed."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ParseError

from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.dialects.onnx.builtin_attributes import (
    ResourceElementsAttr,
    SparseElementsAttr,
    StringElementsAttr,
)
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.errors import XonncError

Parsed = Callable[[str], ModuleOp]
Again = Callable[..., str]


def value(module: ModuleOp) -> Attribute:
    op = module.body.block.first_op
    assert op
    return op.attributes["v"] if "v" in op.attributes else op.properties["value"]


def literal(text: str) -> str:
    return f'"t.op"() {{v = {text}}} : () -> ()'


UNENDED = "dense<[1, 2"

SAME = [
    "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>",
    "dense<5> : tensor<1xi64>",
    "dense<5> : tensor<i64>",
    "dense<> : tensor<0xi64>",
    "dense<-1> : tensor<3xsi64>",
    "dense<[18446744073709551615, 0]> : tensor<2xui64>",
    "dense<[true, false, true]> : tensor<3xi1>",
    "dense<true> : tensor<4xi1>",
    "dense<[-8, 7]> : tensor<2xi4>",
    "dense<[15, 0]> : tensor<2xui4>",
    "dense<[-2, 1]> : tensor<2xi2>",
    "dense<[1.000000e+00, 0x7FC00000, 0xFF800000]> : tensor<3xf32>",
    "dense<0x7F80> : tensor<bf16>",
    "dense<[0x7C00, 1.500000e+00]> : tensor<2xf16>",
    "dense<[0x7FF0000000000000, 1.500000e+00]> : tensor<2xf64>",
    "dense<[0x7F, 1.500000e+00]> : tensor<2xf8E4M3FN>",
    "dense<[0x80, 1.500000e+00]> : tensor<2xf8E4M3FNUZ>",
    "dense<[0x7C, 1.500000e+00]> : tensor<2xf8E5M2>",
    "dense<[0x80, 1.500000e+00]> : tensor<2xf8E5M2FNUZ>",
    "dense<[-6.000000e+00, 1.500000e+00]> : tensor<2xf4E2M1FN>",
    "dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf32>",
    "dense<3.40282347E+38> : tensor<f32>",
    "dense<[(1.000000e+00,2.000000e+00), (0.699999988,0.000000e+00)]> : tensor<2xcomplex<f32>>",
    "dense<(1.000000e+00,2.000000e+00)> : tensor<3xcomplex<f64>>",
    "dense<[1, 2]> : vector<2xindex>",
    'dense<["a", "b\\22"]> : tensor<2x!onnx.String>',
    'dense<"a"> : tensor<2x!onnx.String>',
    'dense<[["a", "\\C3\\A9"]]> : tensor<1x2x!onnx.String>',
    "dense<> : tensor<0x!onnx.String>",
    "sparse<[[0, 1], [2, 0]], [4, 5]> : tensor<3x4xi64>",
    "sparse<0, 1.500000e+00> : tensor<3xf32>",
    "sparse<> : tensor<3xf32>",
    'sparse<[[0, 0], [1, 1]], ["a", "b>"]> : tensor<2x2x!onnx.String>',
    "dense_resource<__elided__> : tensor<2xf32>",
    "distinct[0]<>",
    'distinct[1]<"a">',
    '"text" : !onnx.String',
    '"\\C3\\A9"',
    "[0, 1.500000e+00, 1 : i32, 1.500000e+00 : f32, true]",
    "0x7FC00000 : f32",
    "0x7F80 : bf16",
    "array<f32: 0x7F800000, 1.500000e+00>",
    "array<i64: 1, 2>",
    "{a = 1 : i64, b}",
    "affine_map<(d0) -> (d0 + 1)>",
]


@pytest.mark.parametrize("text", SAME)
def test_prints_as_written(text: str, again: Again):
    printed = again(literal(text))
    if text.startswith("affine_map"):
        assert printed.startswith(f"#map = {text}\nmodule {{")
        assert "{v = #map}" in printed
    else:
        assert f"{{v = {text}}}" in printed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<[1, 1]> : tensor<2xi64>", "dense<1> : tensor<2xi64>"),
        ('dense<"0x05"> : tensor<3xi1>', "dense<[true, false, true]> : tensor<3xi1>"),
        ('dense<"0xFF"> : tensor<3xi1>', "dense<true> : tensor<3xi1>"),
        ('dense<"0x01010001"> : tensor<4xi1>', "dense<[true, true, false, true]> : tensor<4xi1>"),
        ('dense<"0x0F07"> : tensor<2xi4>', "dense<[-1, 7]> : tensor<2xi4>"),
        ('dense<"0x7FF8"> : tensor<4xi4>', "dense<[-1, 7, -8, -1]> : tensor<4xi4>"),
        ('dense<"0x0F07"> : tensor<2xui4>', "dense<[15, 7]> : tensor<2xui4>"),
        ('dense<"0x1E1E"> : tensor<8xi2>', "dense<[-2, -1, 1, 0, -2, -1, 1, 0]> : tensor<8xi2>"),
        ('dense<"0x0000803F"> : tensor<2xf32>', "dense<1.000000e+00> : tensor<2xf32>"),
        ("dense<[0xFF, 1]> : tensor<2xi8>", "dense<[-1, 1]> : tensor<2xi8>"),
        ("dense<[1, -0x2]> : tensor<2xi8>", "dense<[1, -2]> : tensor<2xi8>"),
        ("dense<[1, // one\n 2]> : tensor<2xi8>", "dense<[1, 2]> : tensor<2xi8>"),
        ("dense<[1, 2]> : tensor<2xf32>", "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>"),
        ("dense<1e999> : tensor<f32>", "dense<0x7F800000> : tensor<f32>"),
        ('"plain" : none', '"plain"'),
    ],
)
def test_prints_in_its_own_way(text: str, expected: str, again: Again):
    assert f"{{v = {expected}}}" in again(literal(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dense<[1, 2]> : tensor<3xi64>", "the type's shape [3] takes 3 elements, the literal has 2"),
        (
            "dense<[[1, 2]]> : tensor<2x1xi64>",
            "the brackets of the literal do not follow the type's shape [2, 1]",
        ),
        ("dense<[1, 300]> : tensor<2xi8>", "300 does not fit i8 (-128 to 255)"),
        ("dense<-1> : tensor<ui8>", "-1 does not fit ui8 (0 to 255)"),
        ("dense<200> : tensor<si8>", "200 does not fit si8 (-128 to 127)"),
        ("dense<1.5> : tensor<i8>", "'1.5' is no i8"),
        ("dense<[1.0, 2 3]> : tensor<2xf32>", "'2 3' is no floating-point number"),
        ("dense<[1.0, x]> : tensor<2xf32>", "'x' is no floating-point number"),
        ("dense<[1.0, q]> : tensor<2xf32>", "unexpected character 'q' in the elements of tensor<2xf32>"),
        ("dense<[1.0, é]> : tensor<2xf32>", "unexpected character in the elements of tensor<2xf32>"),
        ("dense<0x1FFFF> : tensor<f16>", "a hexadecimal number does not fit the bits of f16"),
        ("dense<[1.0]> : tensor<0xf32>", "the type's shape [0] has no elements, but the literal has"),
        ("dense<> : tensor<2xf32>", "the type's shape [2] takes 2 elements, the literal has 0"),
        ('dense<"0x123"> : tensor<2xi8>', "a hexadecimal literal takes an even number of digits 0-9, A-F"),
        (
            'dense<"0x01020304"> : tensor<3xi16>',
            "tensor<3xi16> takes 6 bytes of elements, or 2 for a splat; found 4",
        ),
        ('dense<"abc"> : tensor<2xi8>', "a string is no element of tensor<2xi8>"),
        ('dense<["a"]> : tensor<2x!onnx.String>', "the type's shape is [2], the literal's [1]"),
        (
            'dense<[["a"], ["b", "c"]]> : tensor<2x1x!onnx.String>',
            "lists of different lengths in the elements",
        ),
        ("dense<1> : tensor<?xi8>", "elements need a static shape, found tensor<?xi8>"),
        ("dense<1> : i8", "elements need a tensor, vector or memref type, found i8"),
        (UNENDED, "the literal of elements that begins here does not end"),
        ("sparse<[[3, 0]], 1> : tensor<3x4xi64>", "sparse index out of range for tensor<3x4xi64>"),
        ("sparse<0, 1> : i8", "sparse elements need a tensor type of static shape, found i8"),
        ("0x1FFFFFFFF : f32", "0x1FFFFFFFF has more bits than f32"),
        ("1.5 : i32", "Floating point value is not valid for integer type."),
        ("1 : none", "Invalid type given for integer or float attribute."),
        ("dense<1> : tensor<999999999x999999999xi8>", "more than any memory holds"),
        ("dense<1> : tensor<99999999999999999999x0xi8>", "more than any memory holds"),
        (f"dense<1> : tensor<{'1x' * 65}i8>", "more than any memory holds"),
        ("sparse<> : tensor<99999999999999999999xi8>", "more than any memory holds"),
        ('"open', "this string does not end, or has a wrong escape"),
    ],
)
def test_refuses(text: str, message: str, ctx: Context):
    with pytest.raises(ParseError) as caught:
        OnnxParser(ctx, literal(text).replace("->", "") if text == UNENDED else literal(text)).parse_module()
    assert message in caught.value.msg
    assert caught.value.span.get_location().line == 1


def test_an_absurd_shape_is_refused_before_anything_is_allocated(ctx: Context):
    with pytest.raises(ParseError, match="takes 99999980000001 elements, the literal has 1"):
        OnnxParser(ctx, literal("dense<[1]> : tensor<9999999x9999999xi64>"), "t").parse_module()


def test_a_large_splat_is_one_element(parsed: Parsed, again: Again):
    text = literal("dense<1.500000e+00> : tensor<100000x100000xf32>")
    array = elements_array(value(parsed(text)))
    assert array is not None
    assert array.shape == (100000, 100000)
    assert array[7, 7] == 1.5
    assert "dense<1.500000e+00> : tensor<100000x100000xf32>" in again(text)


def test_an_absurd_sparse_tensor_is_not_expanded(parsed: Parsed):
    sparse = value(parsed(literal("sparse<[[0, 1]], 4> : tensor<9999999x9999999xi64>")))
    with pytest.raises(XonncError, match="more than 1073741824 bytes are not made dense"):
        elements_array(sparse)


def test_arrays_of_the_literals_xdsl_lacks(parsed: Parsed):
    strings = value(parsed(literal('dense<[["a"], ["b"]]> : tensor<2x1x!onnx.String>')))
    assert isinstance(strings, StringElementsAttr)
    assert strings.array().tolist() == [["a"], ["b"]]
    sparse = value(parsed(literal("sparse<[[0, 1], [1, 0]], [4, 5]> : tensor<2x2xi64>")))
    assert isinstance(sparse, SparseElementsAttr)
    assert sparse.array().tolist() == [[0, 4], [5, 0]]


@pytest.mark.parametrize(
    ("dtype", "type_"),
    [
        (np.float32, "f32"),
        (np.int8, "i8"),
        (np.bool_, "i1"),
        (np.uint16, "ui16"),
        (np.complex64, "complex<f32>"),
    ],
)
def test_hexadecimal_above_the_threshold(dtype: type[np.generic], type_: str, parsed: Parsed, again: Again):
    array = np.random.default_rng(1).integers(0, 2, (8, 25)).astype(dtype)
    pool = DisposablePool()
    op = ConstantOp.from_attr(pool.create(array))
    module = ModuleOp([op])
    for options in ({}, {"hex_larger": -1}, {"hex_larger": 300}):
        text = again(str_of(module, **options), **options)
        assert ('"0x' in text) == (not options)
        read = elements_array(value(parsed(text)))
        assert read is not None
        assert read.tolist() == array.tolist()


def str_of(module: ModuleOp, **options: Any) -> str:
    stream = StringIO()
    OnnxPrinter(stream=stream, **options).print_op(module)
    return stream.getvalue()


class Sink(StringIO):
    """Counts what is written and keeps nothing."""

    written = 0

    def write(self, text: str, /) -> int:
        self.written += len(text)
        return len(text)


def test_a_large_constant_is_never_held_as_text():
    constant = DisposablePool().create(np.arange(4_000_000, dtype=np.float32))
    module, sink = ModuleOp([ConstantOp.from_attr(constant)]), Sink()
    tracemalloc.start()
    OnnxPrinter(stream=sink).print_op(module)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sink.written > 32_000_000
    assert peak < 4_000_000


def test_i1_is_packed_eight_to_a_byte():
    array = np.zeros(101, np.bool_)
    array[[0, 9, 100]] = True
    text = str_of(ModuleOp([ConstantOp.from_attr(DisposablePool().create(array))]))
    assert f'dense<"0x0102{"00" * 10}10"> : tensor<101xi1>' in text


def test_eliding(parsed: Parsed):
    text = literal(
        "[dense<[1, 2, 3]> : tensor<3xi64>, dense<1> : tensor<3xi64>, dense<[1, 2]> : tensor<2xi64>]"
    )
    printed = str_of(parsed(text), elide_larger=2)
    assert "dense_resource<__elided__> : tensor<3xi64>, dense<1> : tensor<3xi64>, dense<[1, 2]>" in printed
    disposable = ModuleOp([ConstantOp.from_attr(DisposablePool().create(np.arange(3)))])
    elided = str_of(disposable, elide_larger=2)
    assert "onnx.Constant dense_resource<__elided__> : tensor<3xi64>" in elided
    assert "dense_resource<__elided__>" in str_of(parsed(elided))


def test_resources_belong_to_their_file(parsed: Parsed, again: Again):
    def text(data: str) -> str:
        blob = (
            '{-#\n  dialect_resources: {\n    builtin: {\n      key: "0x04000000'
            + data
            + '"\n    }\n  }\n#-}'
        )
        return literal("dense_resource<key> : tensor<1xf32>") + "\n\n" + blob

    one, two = value(parsed(text("0000803F"))), value(parsed(text("00000040")))
    assert isinstance(one, ResourceElementsAttr)
    assert one.array().tolist() == [1.0]
    assert isinstance(two, ResourceElementsAttr)
    assert two.array().tolist() == [2.0]
    for attr, expected in ((one, 1.0), (two, 2.0)):
        array = elements_array(attr)
        assert array is not None
        assert array.tolist() == [expected]
    assert again(text("00000040")).endswith(text("00000040").partition("\n\n")[2])


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        ('key: "0x0400"', 'takes "0x" with alignment and data'),
        ('key: "04000000"', 'takes "0x" with alignment and data'),
        ('key: "0x04000000AA"', "tensor<1xf32> takes 4 bytes, found 1"),
        ("key 1", "Expected ':'"),
        ("1: 1", "Expected the key of a resource"),
    ],
)
def test_wrong_resources(blob: str, message: str, ctx: Context):
    text = (
        literal("dense_resource<key> : tensor<1xf32>")
        + f"{{-# dialect_resources: {{builtin: {{{blob}}}}} #-}}"
    )
    with pytest.raises(ParseError) as caught:
        OnnxParser(ctx, text, "t").parse_module()
    assert message in caught.value.msg


def test_external_resources_are_passed_over(again: Again):
    assert "t.op" in again(literal("1 : i64") + '{-# external_resources: {a: {b: "0x00"}} #-}')


def test_a_million_elements(parsed: Parsed):
    array = np.random.default_rng(0).standard_normal(1_000_000).astype(np.float32)
    text = literal(f"dense<{array.tolist()}> : tensor<1000000xf32>")
    module = parsed(text)
    read = elements_array(value(module))
    assert read is not None
    assert (read == array).all()
