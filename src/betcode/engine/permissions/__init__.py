"""Rules, trust and screening: which tool calls are allowed, denied or put to a person."""
