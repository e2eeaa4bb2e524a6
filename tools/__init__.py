"""Command-line tools on top of the public API."""
