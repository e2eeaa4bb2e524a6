"""Decisions before kernels are built: fusion groups, layouts, tiles, shapes of results."""
