"""Functions of the llvm dialect as C."""
