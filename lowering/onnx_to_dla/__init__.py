"""From `onnx` operators to the engines of the DLA: one function per operator, by theme."""
