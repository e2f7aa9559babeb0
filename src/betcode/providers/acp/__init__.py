"""Agents that speak the Agent Client Protocol: one dialogue for all, and a profile for each."""
