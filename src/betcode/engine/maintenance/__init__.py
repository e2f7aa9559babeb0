"""Background work: adoption at start, orphan checks, retention, expiry, shutdown."""
