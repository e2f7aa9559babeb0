"""Sessions with a lifecycle: started, stopped, restarted and timed out by the obey API."""
