"""ONNX files: the only room that imports the onnx package."""
