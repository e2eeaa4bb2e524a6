"""Data movement, indexing, sorting, resizing."""
