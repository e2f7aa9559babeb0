"""JSON that no supported Python reads: the limit is about 1,000 levels in 3.11, 2,500 in 3.12 and 10,000 in 3.13."""

_LEVELS = 20_000
UNREADABLY_DEEP = '{"a":' * _LEVELS + "1" + "}" * _LEVELS
