"""Comparison of two forms of a model: engines, inputs, tolerances."""
