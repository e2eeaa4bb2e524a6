"""Statistics of a network's quantization, measured on samples."""
