"""
Verification rules beyond types, for the verifiers of ops.

A rule is a function that raises `VerifyException`; an op class carries its rules in one trait,
`Checks(axis_in_range("axis", "input"), …)`, and they are tried in that order. Each says nothing about
what it cannot know: unranked types, dynamic dimensions. The texts follow onnx-mlir's where it has one.
"""

from __future__ import annotations

from xonnc.dialects.onnx.checks.verifier import Checks

__all__ = ["Checks"]
