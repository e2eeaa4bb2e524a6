"""Instances of the patterns of all rewrite rules, and their comparison with the ONNX reference."""
