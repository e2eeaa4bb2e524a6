"""The text form of IR: parser and printer, as MLIR reads and writes it."""

from xonnc.dialects.onnx.assembly.parser import OnnxParser
from xonnc.dialects.onnx.assembly.printer import OnnxPrinter

__all__ = ["OnnxParser", "OnnxPrinter"]
