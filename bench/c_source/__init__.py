"""C source of operators against native code."""
