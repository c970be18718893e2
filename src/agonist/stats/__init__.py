"""What may be said of a sample."""
