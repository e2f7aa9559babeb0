"""Conversions between the engine's values and the messages of the API."""
