"""Runs compiled models in this process."""
