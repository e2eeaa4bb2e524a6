"""Symbolic dimensions: what the sizes of a model are in terms of those of its inputs."""
