"""Bundled plug-ins; they use the public plug-in API `xonnc.plugin` only."""
