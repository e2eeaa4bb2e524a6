"""Allocated NVDLA layers as a loadable, and the stages of the whole way to it."""
