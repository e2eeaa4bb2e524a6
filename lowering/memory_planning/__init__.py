"""The order of steps and the place of buffers that need little memory, on plain data."""
