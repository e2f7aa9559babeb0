"""Values, state tables, decisions and ports: what betcode means, with no I/O, no clock and no tasks.

The log, the agents and the network stand behind the protocols in `ports`; other rooms implement them.
Modules are imported one by one, since the smallest programs need only some of them.
"""
