"""
The ops: ONNX's operators by ONNX's own themes, and what the dialect needs besides.

`math`, `nn`, … are written by `python -m xonnc.tools.onnx_dialect`; `builtin`, `constant` and `extra`
by hand. `PadOp` is `Pad` as of the newest opset, `PadV13Op` as of opset 13 to the next class's.
"""
