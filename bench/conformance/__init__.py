"""Models as the field writes them, and what becomes of each: `python -m bench.conformance`."""
