"""What quantisation does to the values of a network, measured on samples."""
