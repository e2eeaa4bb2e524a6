"""Sweeps of `xonnc sweep`: many models, targets and precisions, with one store of results."""
