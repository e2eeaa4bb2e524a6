"""Builder and arithmetic of FP16."""
