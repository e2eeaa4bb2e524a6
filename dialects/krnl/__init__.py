"""The krnl dialect: loops with schedules (not yet populated)."""
