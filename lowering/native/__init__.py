"""The interface between generated code and its caller: steps, memory plan, C header and C API."""
