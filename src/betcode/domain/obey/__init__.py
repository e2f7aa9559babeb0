"""Values of the obey API: campaigns, their events and errors, and external activities."""
