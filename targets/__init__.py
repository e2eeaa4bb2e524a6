"""Hardware described as data."""
