"""Transforms of whole models that need the ONNX format: signatures and function bodies."""
