"""xonnc compiles ONNX models with xDSL: to native CPU code and to NVDLA loadables."""
