"""The conformance set: models of many exporters through all stages: `python -m bench.conformance`."""
