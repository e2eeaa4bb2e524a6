"""What the lowerings of FP16 and INT8 share: builders of hardware layers, windows, images, QDQ pairs."""
