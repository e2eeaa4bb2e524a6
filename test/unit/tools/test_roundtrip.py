"""`--verify-roundtrip` finds prints that cannot be read, or read as something else."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from xonnc.contexts import new_context
from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.tools.ir_text import make_ir_parser, parse_ir
from xonnc.tools.opt import run_opt
from xonnc.tools.roundtrip import roundtrip_errors

TEXT = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  onnx.Return %x : tensor<2xf32>\n}"


def module() -> ModuleOp:
    parser = make_ir_parser(new_context(), TEXT, "f.mlir")
    assert isinstance(parser, OnnxParser)
    found = parse_ir(parser, TEXT, "f.mlir", True)
    assert isinstance(found, ModuleOp)
    return found


def test_prints_that_are_wrong():
    def unreadable(module: ModuleOp, is_generic: bool) -> str:
        return "func.func @f(" if is_generic else str(TEXT)

    def other(module: ModuleOp, is_generic: bool) -> str:
        counts.append(is_generic)
        return TEXT if len(counts) == 1 else TEXT.replace("@f", "@g")

    counts: list[bool] = []
    (changed,) = roundtrip_errors(new_context(), module(), "f.mlir", other)
    assert changed.message.startswith("roundtrip: the custom form reads as something else: func.func @f(%x:")
    assert "func.func @g" in changed.message
    (broken,) = roundtrip_errors(new_context(), module(), "f.mlir", unreadable)
    assert broken.message.startswith("roundtrip: the generic form cannot be read again: ")
    assert roundtrip_errors(new_context(), module(), "f.mlir") == []


def test_a_tree_that_cannot_be_written():
    code, _, said = run_opt(
        ["--cse", "--print-ir-after-all", "--mlir-print-ir-tree-dir=/dev/null/tree"], TEXT
    )
    assert code == 1
    assert "0_cse.mlir: cannot be written: Not a directory" in said
