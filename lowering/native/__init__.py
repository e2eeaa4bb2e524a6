"""What joins generated code to its caller: a program of steps, its memory layout, header and C API."""
