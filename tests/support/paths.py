"""Directories of the tests. Modules use these, so that they can move between folders."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
SUPPORT = TESTS / "support"
AGENTS = SUPPORT / "agents"  # programs that tests run as agents
CONTRACT = TESTS / "contract"
ROOT = TESTS.parent
