"""Sessions: their states and transitions, bindings, budgets, deletion and transcripts."""
