"""Declarative rewrite rules and the drivers that apply them."""
