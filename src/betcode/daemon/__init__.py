"""Composition: build the packages, run, shut down. Started as a separate process, with `python -m betcode.daemon`."""
