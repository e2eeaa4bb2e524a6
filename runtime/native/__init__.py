"""Runtime of native code: loads compiled models and runs them in this process."""
