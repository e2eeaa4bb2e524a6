"""Emission of C source from functions of the llvm dialect."""
