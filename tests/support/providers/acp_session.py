"""Sessions of the scripted agent that speaks ACP, in a real daemon."""

import json
import sys
from collections.abc import Mapping

from betcode.client import Client, NewConversation
from support.daemon.process import Daemon
from support.daemon.session import Talk
from support.paths import AGENTS

AGENT = AGENTS / "acp_agent.py"


def command(*flags: str) -> str:
    """What provider_config.command is to be, so that the scripted agent is started."""
    return json.dumps([sys.executable, "-B", str(AGENT), *flags])


async def acp_talk(
    daemon: Daemon,
    client: Client,
    *flags: str,
    model: str = "",
    plan_mode: bool = False,
    config: Mapping[str, str] | None = None,
) -> Talk:
    """A session of the scripted agent with these flags, unless `config` says otherwise."""
    chosen = {"command": command(*flags), **(config or {})}
    metadata = {f"provider_config.{key}": value for key, value in chosen.items()}
    new = NewConversation(
        str(daemon.work),
        provider="acp",
        model=model,
        plan_mode=plan_mode,
        metadata=metadata,
        environment=daemon.environment,
    )
    return Talk(client, await client.start_session(new))
