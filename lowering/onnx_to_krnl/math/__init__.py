"""Elementwise operators, reductions, products of matrices, random numbers."""
