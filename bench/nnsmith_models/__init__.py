"""Models of NNSmith, made in an environment of their own."""
