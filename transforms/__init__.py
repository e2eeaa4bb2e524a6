"""Passes within one dialect."""
