"""Packages: one file with everything that a model became, for the DLA and for the CPU."""
