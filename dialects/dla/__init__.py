"""The dla dialect: NVDLA hardware operations, first on tensors, then on surfaces with addresses."""
