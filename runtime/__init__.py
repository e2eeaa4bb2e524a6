"""What runs compiled things."""
