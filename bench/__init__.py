"""The figures: what betcode costs, each measured beside a baseline in the same run. `python -m bench` prints them.

Nothing here asserts speed. A figure says what was measured, what it is compared with, and whether the target was met.
"""
