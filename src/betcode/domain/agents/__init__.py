"""Agents and providers: capabilities, commands, and what a dialogue reports about its agent."""
