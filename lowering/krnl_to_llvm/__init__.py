"""Kernels of the krnl dialect as functions of the llvm dialect."""
