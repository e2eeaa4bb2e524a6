"""Lowering of `onnx` operators to operations of NVDLA's engines: one function per operator, by theme."""
