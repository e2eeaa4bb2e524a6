"""The report page of `xonnc report --html`: one HTML file with seven linked views of a compiled model."""
