"""Access control: which process a call comes from, and which methods it may call."""
