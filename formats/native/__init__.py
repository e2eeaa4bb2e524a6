"""Compiled models: what the compiler hands to the session that runs them."""
