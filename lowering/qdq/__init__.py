"""QDQ models: quantization in standard ONNX operators, for any runtime."""
