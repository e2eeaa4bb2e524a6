"""The declarative rule language and its driver."""
