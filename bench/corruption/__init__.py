"""Mutation fuzzing of input files: a corpus, mutators, and the commands that read the files."""
