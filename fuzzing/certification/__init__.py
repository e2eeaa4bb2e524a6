"""Certificates of rewrite rules: proofs for all values of the inputs, or random instances."""
