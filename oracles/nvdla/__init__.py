"""Independent reference of the int8 lowerings to NVDLA in integer arithmetic, operator by operator."""
