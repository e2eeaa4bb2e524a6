"""NVDLA loadables: container, packed records, checks and text dump."""
