"""Runs git with argument lists and a fixed environment, with limits on time and output."""
