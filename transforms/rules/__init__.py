"""Tables of rewrite rules, by theme."""
