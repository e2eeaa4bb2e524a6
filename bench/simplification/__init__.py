"""The tools that `bench/simplify.py` compares, samples in worker processes, tables and requirements."""
