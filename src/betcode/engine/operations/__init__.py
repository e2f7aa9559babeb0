"""What a caller may ask for: one module per verb."""
