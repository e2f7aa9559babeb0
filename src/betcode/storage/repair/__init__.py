"""Backup, integrity check and recovery of a database, while no daemon uses it."""
