"""The declarative rule dialect and its driver."""
