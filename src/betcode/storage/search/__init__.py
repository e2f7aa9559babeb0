"""The full-text index: its file, its updates and its queries."""
