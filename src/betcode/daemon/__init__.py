"""Composition: build the rooms, run, shut down. Started as a process of its own, with `python -m betcode.daemon`."""
