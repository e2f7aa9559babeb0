"""The values, state tables, decisions and ports of betcode, with no I/O, no clock and no tasks.

One folder per subject. Other packages implement the store, the agents and the network behind the protocols in `ports`.
"""
