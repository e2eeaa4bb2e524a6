"""Builder and arithmetic of INT8: scales, requantization, lookup tables."""
