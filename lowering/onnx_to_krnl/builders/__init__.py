"""What the lowerings of all operators share: builders of kernels and of the code around them."""
