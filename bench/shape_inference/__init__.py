"""Inferred shapes, held against those of the onnx package."""
