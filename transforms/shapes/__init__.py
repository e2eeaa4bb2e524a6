"""Shape inference, one small function per op, by theme."""
