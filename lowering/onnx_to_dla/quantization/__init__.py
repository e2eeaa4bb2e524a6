"""Passes and analyses that decide scales: `quantize-onnx`, `propagate-qdq-onnx`, equalization."""
