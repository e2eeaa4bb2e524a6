"""Convolutions, pooling, normalization, attention, object detection."""
