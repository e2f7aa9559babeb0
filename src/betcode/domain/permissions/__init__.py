"""Permissions: prompts and their lifetime, the audit log, notifications."""
