"""Generators of the models of the benchmarks, by family: onnx and numpy alone, the same bytes every time."""
