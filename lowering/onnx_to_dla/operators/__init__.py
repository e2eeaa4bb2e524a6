"""Lowerings of operators, one module a theme."""
