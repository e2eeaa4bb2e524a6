"""Scheduling and offset assignment that minimise memory, as functions on plain data."""
