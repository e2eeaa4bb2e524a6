"""Operators, rules and passes from outside of the compiler; `xonnc.plugin` is their public face."""
