"""Mutation testing: seeded faults in the product's code, and whether its tests notice them."""
