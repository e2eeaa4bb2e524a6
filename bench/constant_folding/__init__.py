"""Models of constants, and whether constant propagation leaves nothing else of them."""
