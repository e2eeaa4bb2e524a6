"""Register sequences of loadables, for systems without the NVDLA driver and runtime."""
