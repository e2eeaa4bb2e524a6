"""The onnx dialect: every ONNX operator, its types, attributes and constants."""
