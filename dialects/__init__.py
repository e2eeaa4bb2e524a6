"""The dialects: ops, types and attributes, and nothing that transforms them."""
