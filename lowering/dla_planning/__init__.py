"""Decisions of the NVDLA back end as plain functions over plain data."""
