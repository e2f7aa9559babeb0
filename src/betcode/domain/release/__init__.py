"""What a release supports: features, deprecations, and compatible clients and agents."""
