"""Transforms of whole models that need the ONNX format: signatures, and bodies of functions."""
