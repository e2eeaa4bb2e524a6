"""Partitioning of a network between NVDLA and the CPU."""
