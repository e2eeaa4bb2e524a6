"""A functional simulator of NVDLA."""
