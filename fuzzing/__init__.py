"""Random models, run before and after simplification; what differs is made small and kept."""
