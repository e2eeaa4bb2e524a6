"""Plug-ins that come with xonnc, written against `xonnc.plugin` alone."""
