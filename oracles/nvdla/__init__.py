"""NVDLA lowerings against integer arithmetic written down a second time, operator by operator."""
