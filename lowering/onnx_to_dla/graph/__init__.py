"""Passes on the graph that write what the engines lack as convolutions."""
