"""Modules that stand in for other packages: the same functions and options, on this compiler."""
