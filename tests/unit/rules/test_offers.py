"""What a person may grant for the rest of a session, and what not."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.rules import Grants, PathContext, Rule, Rules, ScreenOutcome, ToolUse, exact_rule, granting, offers, screen
from betcode.rules.rule import Action, Layer, Source, parse_rule

PLACE = PathContext("/code/project", "/home/me", resolve=lambda path: path)


def use(tool: str, **given: object) -> ToolUse:
    return ToolUse(tool, given)


def patterns(of: ToolUse, *suggested: str) -> list[str]:
    return [offer.pattern for offer in offers(of, PLACE, suggested)]


def covers(pattern: str, other: ToolUse) -> bool:
    rule = parse_rule(pattern, Action.GRANT, Source(Layer.SESSION))
    assert isinstance(rule, Rule)
    return screen(other, Rules((), PLACE), Grants([rule], PLACE)).outcome is ScreenOutcome.ALLOW


@pytest.mark.parametrize(
    ("asked", "offered"),
    [
        (use("Bash", command="git commit -m wip"), ["Bash(git commit -m wip)", "Bash(git commit *)", "Bash"]),
        (use("Bash", command="npm run test -- -w"), ["Bash(npm run test -- -w)", "Bash(npm run test *)", "Bash"]),
        (use("Bash", command="pytest -x"), ["Bash(pytest -x)", "Bash(pytest *)", "Bash"]),
        (use("Bash", command="git add . && make"), ["Bash(git add . && make)", "Bash"]),
        (use("Bash", command="echo 'open"), ["Bash(echo 'open)", "Bash"]),
        (use("Edit", file_path="/code/project/src/a.ts"), ["Edit(src/a.ts)", "Edit(src/**)", "Edit"]),
        (use("Write", file_path="/code/project/a.ts"), ["Write(./a.ts)", "Edit(./**)", "Write"]),
        (use("Read", file_path="/srv/x/a"), ["Read(//srv/x/a)", "Read(//srv/x/**)", "Read"]),
        (use("Read", file_path="/home/me/notes/a"), ["Read(~/notes/a)", "Read(~/notes/**)", "Read"]),
        (use("Read", file_path="/home/me/a"), ["Read(~/a)", "Read"]),
        (use("Edit", file_path="/code/project/.git/config"), ["Edit(.git/config)", "Edit(.git/**)"]),
        (use("Grep", pattern="x"), ["Grep(//code/project)", "Grep"]),
        (use("WebFetch", url="https://docs.python.org/3/"), ["WebFetch(domain:docs.python.org)", "WebFetch"]),
        (use("mcp__github__get_issue", number=1), ["mcp__github__get_issue", "mcp__github__*"]),
        (use("Task", subagent_type="Explore"), ["Task(Explore)", "Task"]),
        (use("WebSearch", query="x"), ["WebSearch"]),
    ],
)
def test_rules_are_offered_the_narrowest_first(asked: ToolUse, offered: list[str]) -> None:
    assert patterns(asked) == offered


@pytest.mark.parametrize(
    "command", ["rm -rf build", "sudo make", "python x.py", "bash -c 'ls'", "curl x", "git -c a=b log"]
)
def test_a_program_that_could_do_anything_is_not_offered_with_anything(command: str) -> None:
    assert [pattern for pattern in patterns(use("Bash", command=command)) if pattern.endswith(" *)")] == []


def test_what_the_agent_proposes_is_offered_once_and_only_if_it_covers_what_it_asks() -> None:
    asked = use("Bash", command="git commit -m wip")
    proposed = ["Bash(git commit:*)", "Bash(git:*)", "Bash(rm *)", "Edit", "nonsense(", "Bash"]
    assert patterns(asked, *proposed) == [
        "Bash(git commit -m wip)",
        "Bash(git commit *)",
        "Bash(git:*)",
        "Bash",
    ]


@pytest.mark.behaviour("question.never-by-rule")
@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_nothing_is_granted_of_what_only_people_answer(tool: str) -> None:
    assert patterns(use(tool), tool) == []
    assert exact_rule(use(tool), PLACE) is None
    assert "only be answered by a person" in str(granting(tool, use(tool), PLACE))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("Bash(", "must be Tool or Tool(specifier)"),
        ("Bash()", "parentheses are empty"),
        ("Edit", "not for Bash"),
        ("Bash(npm *)", "does not cover"),
        ("*", "* is only supported after"),
    ],
)
def test_a_grant_that_does_not_fit_is_refused_in_one_sentence(pattern: str, why: str) -> None:
    refused = granting(pattern, use("Bash", command="git status"), PLACE)
    assert isinstance(refused, str)
    assert why in refused


def test_what_is_too_long_for_a_rule_has_no_exact_one() -> None:
    assert exact_rule(use("Bash", command="echo " + "x" * 5000), PLACE) is None
    assert exact_rule(ToolUse("Bash", None), PLACE) is None


@given(st.text(alphabet="ab *\\?[]:()'\"$;&|\n", min_size=1, max_size=24), st.text(alphabet="ab *;&|", min_size=1))
def test_the_exact_rule_is_that_command_and_no_longer_one(command: str, more: str) -> None:
    exact = exact_rule(use("Bash", command=command), PLACE)
    if exact is None:
        return
    assert covers(exact, use("Bash", command=command))
    longer = use("Bash", command=f"{command.strip()} zz{more.strip()}")
    assert not covers(exact, longer)


@given(st.lists(st.text(alphabet="ab.*?[]\\!~ #", min_size=1, max_size=6), min_size=1, max_size=3))
def test_the_exact_rule_for_a_file_is_that_file(names: list[str]) -> None:
    path = posixpath.normpath("/code/project/" + "/".join(names))
    exact = exact_rule(use("Edit", file_path=path), PLACE)
    if exact is None:
        return
    assert covers(exact, use("Edit", file_path=path))
    assert not covers(exact, use("Edit", file_path=path + "x"))


def test_what_was_refused_for_the_session_is_denied_and_unclear_uses_ask() -> None:
    rules = [
        parse_rule("Bash(git push *)", Action.DENY, Source(Layer.SESSION)),
        parse_rule("Bash", Action.GRANT, Source(Layer.SESSION)),
    ]
    grants = Grants((rule for rule in rules if isinstance(rule, Rule)), PLACE)
    outcomes = [
        screen(use("Bash", command=command), Rules((), PLACE), grants).outcome
        for command in ("git push origin", "ls", "echo 'open", "true && git push")
    ]
    assert outcomes == [ScreenOutcome.DENY, ScreenOutcome.ALLOW, ScreenOutcome.ASK, ScreenOutcome.DENY]


@pytest.mark.parametrize(
    "asked",
    [
        use("Bash", command="echo " + "x" * 10_001),
        use("Bash", command="ls", run_in_background=True),
        use("Bash"),
        use("Write", file_path="/"),
        use("Write", file_path=""),
        use("WebFetch", url="https://*/"),
        use("Task", subagent_type="*"),
        use("Skill"),
        ToolUse("mcp__db__run", None),
    ],
)
def test_every_use_of_a_tool_is_never_the_first_offer_where_rules_could_say_less(asked: ToolUse) -> None:
    assert patterns(asked, asked.tool) == []
    assert exact_rule(asked, PLACE) is None


@pytest.mark.parametrize("tool", ["mcp__x__*", "mcp__*", "mcp__x", "mcp__x__", "*", "Bash*", "Foo(x)", "a b", ""])
def test_a_name_that_means_more_than_the_tool_is_not_offered(tool: str) -> None:
    assert patterns(use(tool, a=1), tool) == []
    assert exact_rule(use(tool, a=1), PLACE) is None


@pytest.mark.parametrize("path", ["/home/me/.ssh", "/code/project/src", "/code/project", "/srv", "/home/me"])
@pytest.mark.parametrize("tool", ["Read", "Write"])
def test_this_file_is_nothing_below_it(tool: str, path: str) -> None:
    exact = exact_rule(use(tool, file_path=path), PLACE)
    assert exact is not None
    assert covers(exact, use(tool, file_path=path))
    assert not covers(exact, use(tool, file_path=f"{path}/id_rsa"))


@pytest.mark.parametrize("pattern", ["Bash(ls)", "Bash(ls *)"])
@pytest.mark.parametrize("name", ["dangerouslyDisableSandbox", "run_in_background"])
def test_a_granted_command_is_not_granted_without_the_sandbox_or_in_the_background(pattern: str, name: str) -> None:
    for value, is_covered in ((True, False), ("true", False), (False, True), (None, True)):
        assert covers(pattern, ToolUse("Bash", {"command": "ls", name: value})) is is_covered
    assert covers("Bash", ToolUse("Bash", {"command": "ls", name: True}))
