"""Runs, the lifetimes of agent processes: states, launch, journal records, exits and restarts."""
