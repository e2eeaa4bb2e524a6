"""Execution of compiled models: native code, packages, NVDLA loadables and calibration runs."""
