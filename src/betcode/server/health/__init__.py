"""Health checks, and the two health services that report them."""
