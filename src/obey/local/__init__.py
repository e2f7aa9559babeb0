"""The local daemon's part of the obey API."""
