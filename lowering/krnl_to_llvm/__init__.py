"""Lowering of kernels from the krnl dialect to the llvm dialect."""
