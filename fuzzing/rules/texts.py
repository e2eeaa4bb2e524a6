"""Instances written as IR text, for rules on regions and on values with several uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DictionaryAttr, IntegerAttr, i64
from xdsl.dialects.func import Func, FuncOp

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.fuzzing.rules.instances import Example, Instance
from xonnc.rewriting.patterns import Array
from xonnc.transforms.shape_inference_onnx import infer_shapes

ENTRY = '\n"onnx.EntryPoint"() <{func = @main_graph}> : () -> ()'


@dataclass(frozen=True)
class Text:
    """A module with one function `@main_graph`, and its inputs by name."""

    text: str
    feeds: Mapping[str, Array]
    opset: int | None = None
    """The opset, if only onnxruntime computes it correctly."""


class TextInstance(Instance):
    """An instance parsed from text."""

    def __init__(self, given: Text) -> None:
        self.context = Context()
        for dialect in (Builtin, Func, get_onnx()):
            self.context.load_dialect(dialect)
        self.example = Example(opset=given.opset)
        self.module = OnnxParser(self.context, given.text + ENTRY).parse_module()
        function = self.module.body.block.first_op
        assert isinstance(function, FuncOp)
        self.function = function
        self.feeds = dict(given.feeds)
        self.data = list(given.feeds.values())
        if given.opset is not None:
            opsets = DictionaryAttr({"": IntegerAttr(given.opset, i64)})
            self.module.attributes["onnx.opset_imports"] = opsets
        infer_shapes(self.module)
        self.module.verify()
