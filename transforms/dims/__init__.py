"""Symbolic dimension analysis."""
