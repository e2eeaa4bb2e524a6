"""Parts of `bench/simplify.py`: the tools, a sample in a process of its own, tables and verdicts."""
