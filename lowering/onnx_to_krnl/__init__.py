"""Lowering of ONNX operators to kernels of the krnl dialect: one function per operator, grouped by theme."""
