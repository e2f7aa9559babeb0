"""Agents of an OpenClaw gateway: the provider launches a bridge, and starts a gateway if needed."""
