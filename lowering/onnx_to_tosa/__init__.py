"""Lowering of ONNX operators to the tosa dialect, for compilers that read TOSA."""
