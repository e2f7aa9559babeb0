"""The question whether to trust a project."""
