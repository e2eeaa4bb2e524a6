"""Differential fuzzing: random models run before and after simplification; failures are reduced and saved."""
