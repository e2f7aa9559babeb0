"""git as a program: called with argument lists and a fixed environment, bounded in time and in what it says."""
