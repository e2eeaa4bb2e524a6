"""Inferred shapes compared with those of the onnx package."""
