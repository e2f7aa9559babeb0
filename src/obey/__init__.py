"""The obey face of the API; only generated messages live here."""
