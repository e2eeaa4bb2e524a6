"""Random models of NNSmith, generated in a virtual environment of their own."""
