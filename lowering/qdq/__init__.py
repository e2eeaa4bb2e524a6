"""QDQ models: quantisation in standard ONNX operators, for any runtime."""
