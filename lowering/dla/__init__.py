"""NVDLA layers as operations of the dla dialect: fused, split, scheduled and given addresses."""
