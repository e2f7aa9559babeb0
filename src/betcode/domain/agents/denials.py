"""The mark of a tool that the agent does not offer, until the session has checked its rules."""

from typing import Final

# In `ToolCallResult.denied_by` between a dialogue and its session only: the session replaces it before it is stored.
DISABLED: Final = "disabled"
