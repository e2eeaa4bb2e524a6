"""
Writes the operators of the `onnx` dialect from the schemas of the installed `onnx` package.

`python -m xonnc.tools.onnx_dialect` writes `dialects/onnx/ops`, the round-trip tests in
`test/lit/dialects/onnx` and `docs/ops.md`; a test holds what is checked in equal to what it writes.
"""
