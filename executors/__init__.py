"""Executors of independent tasks: in this process, in local processes, or on a Dask cluster."""
