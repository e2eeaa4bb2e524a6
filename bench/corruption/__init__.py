"""Damaged input files: samples, ways to damage them, and the commands that read them."""
