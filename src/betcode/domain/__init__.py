"""The values, state tables, decisions and ports of betcode, with no I/O, no clock and no tasks.

One folder per subject. The store, the agents and the network are behind the protocols in `ports`, which other packages
implement.
"""
