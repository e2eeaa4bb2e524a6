"""Every stage is text that can be read back and gone on with: the loadable stays the same."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.lowering.dla_to_loadable.emit_loadable import loadable_of
from xonnc.lowering.dla_to_loadable.stages import STAGES, compile_to_loadable
from xonnc.targets import load_target

NETWORK = """
c = Conv<pads=[1,1,1,1]>(x, w, b)
r = Relu(c)
p = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(r)
j = Concat<axis=1>(r, p)
f = Flatten(j)
y = Gemm<transB=1>(f, m)
"""
WEIGHTS = {"w": (16, 3, 3, 3), "b": (16,), "m": (5, 32 * 64)}


@pytest.mark.parametrize("stage", ["dla", "scheduled", "allocated"])
def test_a_stage_read_back(
    stage: str,
    build: Callable[..., onnx.ModelProto],
    simplified: Callable[[onnx.ModelProto], ModuleOp],
    context: Context,
):
    texts: dict[str, str] = {}

    def on_stage(name: str, module: ModuleOp) -> None:
        texts[name] = text_of(module)

    compiled = compile_to_loadable(simplified(build(NETWORK, weights=WEIGHTS)), "nv_full", context, on_stage)
    module = OnnxParser(context, texts[stage]).parse_module()
    names = [name for name, _ in STAGES]
    for _, passes in STAGES[names.index(stage) + 1 :]:
        for one in passes:
            one("nv_full").apply(context, module)
    assert to_bytes(loadable_of(module, load_target("nv_full"))) == to_bytes(compiled.loadable)


def text_of(module: ModuleOp) -> str:
    stream = StringIO()
    OnnxPrinter(stream).print_op(module)
    return stream.getvalue()
