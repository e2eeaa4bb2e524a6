"""Coverage of constant folding on the node tests of the onnx package."""
