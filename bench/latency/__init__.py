"""Latency measurements: peers, the worker process of one, interleaved rounds and tables."""
