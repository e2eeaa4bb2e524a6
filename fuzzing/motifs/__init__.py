"""Motifs by theme: each adds a few nodes to a draft that some rule of simplification may be tempted by."""
