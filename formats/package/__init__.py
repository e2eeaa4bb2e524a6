"""Packages: one file with the partitions of a model for the DLA and the CPU."""
