"""Quantization and integer arithmetic."""
