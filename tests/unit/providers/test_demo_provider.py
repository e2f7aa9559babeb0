"""How the demo agent is launched."""

import sys
from pathlib import Path

from betcode.domain.runs.launch import LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.providers.demo.provider import DemoProvider

SESSION = NewSession(
    SessionId("0f0e0d0c-0b0a-4908-8706-050403020100"),
    provider="demo",
    working_directory="/tmp",
    model="-odd name",
    allowed_tools=("Bash", "Read"),
    plan_mode=True,
)


def flags(session: NewSession, *, resume: bool = False, **environment: str) -> tuple[str, ...]:
    context = LaunchContext("conversation", resume, continue_turn=False, environment=environment)
    launch = DemoProvider().launch(session, context)
    assert launch.argv[:4] == (sys.executable, "-I", "-m", "betcode.agents.demo")
    assert launch.cwd == Path("/tmp")
    assert launch.env == environment
    return launch.argv[4:]


def test_every_value_is_bound_to_its_flag() -> None:
    assert flags(SESSION) == (
        "--session-id=conversation",
        "--model=-odd name",
        "--allowed-tools=Bash,Read",
        "--permission-mode=plan",
    )


def test_a_conversation_that_began_is_resumed() -> None:
    assert flags(SESSION, resume=True)[0] == "--resume=conversation"


def test_the_sessions_environment_directs_it() -> None:
    plain = NewSession(SESSION.session_id, provider="demo", working_directory="/tmp")
    directed = flags(plain, BETCODE_DEMO_SPEED="0", BETCODE_DEMO_FLOOD="9", PATH="/bin")
    assert directed == ("--session-id=conversation", "--speed=0", "--flood=9")


def test_it_is_always_there() -> None:
    DemoProvider().check({})
