"""Facts about agents and their processes: slots, memory, reports, process membership."""
