"""Passes that cross from one dialect to the next."""
