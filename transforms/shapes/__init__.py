"""Shape functions of ONNX operators, by theme."""
