"""Which parts of a network the DLA does and which the CPU, and in what order."""
