"""Generators of instances, and fixed ones, by table of rules."""
