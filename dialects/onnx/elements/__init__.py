"""Compile-time tensors: disposable elements, their pool and collector."""
