"""Passes that stay inside one dialect."""
