"""The C API of ONNX-optimizer: a shared library whose functions call this package in an embedded Python."""
