"""ONNX operators as kernels of the krnl dialect: a function an operator, in files by theme."""
