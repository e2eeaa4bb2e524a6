"""Motifs by theme: each adds a few nodes that a simplification pattern may match, rightly or not."""
