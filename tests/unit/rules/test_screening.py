"""Deny, ask, allow, grant, and silence asks; and the rules for tools that are neither commands nor files."""

import pytest

from betcode.rules import (
    FOR_PEOPLE,
    Action,
    Grants,
    Layer,
    Rule,
    RuleProblem,
    Rules,
    ScreenOutcome,
    Source,
    ToolUse,
    objection,
    parse_rule,
    screen,
    segments,
)
from support.deep_json import UNREADABLY_DEEP
from support.rules.rules import PLACE, grants, ruled, rules, screened

ALLOW, ASK, DENY = ScreenOutcome.ALLOW, ScreenOutcome.ASK, ScreenOutcome.DENY
HERE = Source(Layer.USER)


@pytest.mark.behaviour("permission.screen.deny")
def test_a_deny_rule_denies_at_once() -> None:
    verdict = screened("rm x", rules(deny=["Bash(rm *)"]))
    assert verdict.outcome is DENY
    assert verdict.rule is not None
    assert verdict.rule.text == "Bash(rm *)"


@pytest.mark.behaviour("permission.screen.allow")
def test_an_allow_rule_allows_at_once() -> None:
    verdict = screened("git status", rules(allow=["Bash(git *)"], deny=["Bash(rm *)"]))
    assert verdict.outcome is ALLOW
    assert [rule.text for rule in verdict.rules] == ["Bash(git *)"]


@pytest.mark.behaviour("permission.screen.grant")
def test_a_grant_allows_at_once_and_is_named() -> None:
    verdict = screened("npm test", rules(deny=["Bash(rm *)"]), grants("Bash(npm test)"))
    assert verdict.outcome is ALLOW
    assert verdict.rule is not None
    assert verdict.rule.action is Action.GRANT


@pytest.mark.behaviour("permission.screen.deny-beats-allow")
def test_deny_beats_allow_however_exact_the_allow_is() -> None:
    assert screened("git push", rules(allow=["Bash(git push)"], deny=["Bash(git *)"])).outcome is DENY


@pytest.mark.behaviour("permission.screen.deny-beats-grant")
def test_deny_beats_a_grant() -> None:
    assert screened("rm x", rules(deny=["Bash(rm *)"]), grants("Bash(rm x)", "Bash")).outcome is DENY


@pytest.mark.behaviour("permission.screen.silence-asks")
def test_silence_asks() -> None:
    verdict = screened("make", rules(allow=["Bash(git *)"], deny=["Bash(rm *)"]))
    assert verdict.outcome is ASK
    assert verdict.rule is None
    assert screen(ToolUse("WebSearch", {"query": "x"}), rules()).outcome is ASK


def test_ask_stands_between_deny_and_allow() -> None:
    by = rules(allow=["Bash"], ask=["Bash(git push *)"], deny=["Bash(git push --force *)"])
    assert screened("git status", by).outcome is ALLOW
    assert screened("git push origin", by).outcome is ASK
    assert screened("git push origin", by).rule is not None
    assert screened("git push --force origin", by).outcome is DENY
    assert screened("git push origin", by, grants("Bash(git push origin)")).outcome is ASK


def test_an_allow_rule_is_named_before_a_grant() -> None:
    verdict = screened("git status", rules(allow=["Bash(git *)"]), grants("Bash(git status)", "Bash(git *)"))
    assert verdict.rule is not None
    assert verdict.rule.action is Action.ALLOW


@pytest.mark.parametrize("tool", sorted(FOR_PEOPLE))
def test_no_rule_answers_what_is_for_people(tool: str) -> None:
    for by in (rules(allow=[tool]), rules(deny=[tool]), rules(deny=["*"])):
        assert screen(ToolUse(tool, {}), by, grants(tool)).outcome is ASK


@pytest.mark.behaviour("permission.rule.whole-tool")
def test_a_bare_name_is_every_use_of_that_tool_and_no_other() -> None:
    by = rules(allow=["Bash"])
    for command in ("ls", "rm -rf /", "a | b", "cannot be parsed &&"):
        assert screened(command, by).outcome is ALLOW
    for tool in ("BashOutput", "Read", "bash", "mcp__Bash__x"):
        assert screen(ToolUse(tool, {"command": "ls"}), by).outcome is ASK


@pytest.mark.behaviour("permission.rule.mcp-wildcard")
def test_a_server_with_a_star_is_all_its_tools_and_no_other_server() -> None:
    by = rules(allow=["mcp__github__*"])
    assert screen(ToolUse("mcp__github__create_issue", {}), by).outcome is ALLOW
    for tool in ("mcp__gitlab__create_issue", "mcp__github2__x", "mcp__githu__b__x", "github__x"):
        assert screen(ToolUse(tool, {}), by).outcome is ASK


NAMES = [
    ("mcp__github", "mcp__github__create_issue", True, True),
    ("mcp__github", "mcp__github2__create_issue", False, False),
    ("mcp__github__get", "mcp__github__get", True, True),
    ("mcp__github__get", "mcp__github__get_issue", False, False),
    ("mcp__github__get_*", "mcp__github__get_issue", True, True),
    ("mcp__my__server", "mcp__my__server__tool", False, True),
    ("WebSearch", "WebSearch", True, True),
    ("Task", "Agent", True, True),
    ("Agent", "Task", True, True),
]


@pytest.mark.parametrize(("rule", "tool", "allows", "forbids"), NAMES)
def test_names_match_as_they_are_written(rule: str, tool: str, allows: bool, forbids: bool) -> None:
    assert screen(ToolUse(tool, {}), rules(allow=[rule])).outcome is (ALLOW if allows else ASK)
    assert screen(ToolUse(tool, {}), rules(deny=[rule])).outcome is (DENY if forbids else ASK)


def test_stars_in_names_forbid_freely_and_allow_only_below_a_server() -> None:
    assert screen(ToolUse("mcp__x__y", {}), rules(deny=["mcp__*"])).outcome is DENY
    assert screened("ls", rules(deny=["*"])).outcome is DENY
    for text in ("*", "B*", "mcp__*", "mcp__*__x"):
        assert isinstance(parse_rule(text, Action.ALLOW, HERE), RuleProblem)
        assert isinstance(parse_rule(text, Action.GRANT, HERE), RuleProblem)


HOSTS = [
    ("domain:example.com", "https://example.com/x", True),
    ("domain:example.com", "http://EXAMPLE.com.:8080/x?y#z", True),
    ("domain:example.com", "https://user:pw@example.com/", True),
    ("domain:example.com", "https://www.example.com/", False),
    ("domain:example.com", "https://example.com.evil.net/", False),
    ("domain:example.com", "https://evilexample.com/", False),
    ("domain:example.com", "https://example.com@evil.net/", False),
    ("domain:example.com", "https://evil.net\\@example.com/", False),
    ("domain:example.com", "https://evil.net/?https://example.com", False),
    ("domain:example.com", "https://evil.net#example.com", False),
    ("domain:example.com", "https:example.com", False),
    ("domain:example.com", "https:///example.com", False),
    ("domain:example.com", "//example.com/x", False),
    ("domain:example.com", "ftp://example.com/x", False),
    ("domain:example.com", "https://exam\tple.com/", False),
    ("domain:example.com", " https://example.com/", False),
    ("domain:example.com", "https://ex%61mple.com/", False),
    ("domain:example.com", "https://ｅxample.com/", False),  # noqa: RUF001
    ("domain:example.com", "https://example.com:99999999/", False),
    ("domain:example.com", "https://[example.com]/", False),
    ("domain:*.example.com", "https://api.example.com/", True),
    ("domain:*.example.com", "https://a.b.example.com/", True),
    ("domain:*.example.com", "https://example.com/", False),
    ("domain:github.*", "https://github.io/", True),
    ("domain:github.*", "https://github.evil.com/", False),
    ("domain:*", "https://anything.net/", True),
    ("domain:[::1]", "http://[::1]:80/", True),
    ("domain:[::1]", "http://[0:0:0:0:0:0:0:1]/", True),
    ("domain:[0::1]", "http://[::1]/", True),
    ("domain:127.0.0.1", "http://127.0.0.1:8080/", True),
    ("domain:bücher.example", "https://xn--bcher-kva.example/", True),
    ("domain:*.bücher.example", "https://a.xn--bcher-kva.example/", True),
]


@pytest.mark.parametrize(("specifier", "address", "matches"), HOSTS, ids=[f"{r[0]} {r[1]}" for r in HOSTS])
def test_a_domain_rule_is_about_the_host_that_is_asked(specifier: str, address: str, matches: bool) -> None:
    use = ToolUse("WebFetch", {"url": address})
    assert screen(use, rules(allow=[f"WebFetch({specifier})"])).outcome is (ALLOW if matches else ASK)
    denied = screen(use, rules(allow=["WebFetch"], deny=[f"WebFetch({specifier})"])).outcome
    assert (denied is DENY) is matches


def test_an_address_that_readers_may_differ_about_asks_where_hosts_are_forbidden() -> None:
    use = ToolUse("WebFetch", {"url": "https://good.net\\@evil.net/"})
    assert screen(use, rules(allow=["WebFetch"], deny=["WebFetch(domain:other.net)"])).outcome is ASK
    assert screen(use, rules(allow=["WebFetch"])).outcome is ALLOW


@pytest.mark.parametrize(
    "address",
    [
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.01/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1%25lo]/",
        "http://127.0.0.1../",
        "http://a..b/",
        "https://bücher.example/",
    ],
)
def test_an_address_in_another_spelling_is_covered_by_no_domain_and_asks_where_one_is_denied(address: str) -> None:
    use = ToolUse("WebFetch", {"url": address})
    host = address.partition("//")[2].rstrip("/")
    assert screen(use, rules(allow=["WebFetch(domain:127.0.0.1)", f"WebFetch(domain:{host})"])).outcome is ASK
    assert screen(use, rules(allow=["WebFetch"], deny=["WebFetch(domain:127.0.0.1)"])).outcome is ASK
    assert screen(use, rules(allow=["WebFetch"])).outcome is ALLOW


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("curl https://evil.net/x", ASK),
        ("curl -s EVIL.net:8080/x", ASK),
        ("curl user:pw@evil.net", ASK),
        ("curl --url=https://evil.net", ASK),
        ("curl https://a.b.evil.org./x", ASK),
        ("wget -q http://me@evil.net/", ASK),
        ("git clone ssh://git@evil.net/x", ASK),
        ("bash -c 'curl evil.net'", ASK),
        ("pip install --index-url https://evil.net/simple x", ASK),
        ("curl $x", ASK),
        ("curl https://good.net/evil.net", ALLOW),
        ("curl https://evil.net.good.net/", ALLOW),
        ("echo https://evil.net", ALLOW),
        ("git log $x", ALLOW),
    ],
)
def test_a_program_that_asks_a_denied_host_is_asked_about(command: str, outcome: ScreenOutcome) -> None:
    denied = ["WebFetch(domain:evil.net)", "WebFetch(domain:*.evil.org)"]
    assert screened(command, rules(allow=["Bash"], deny=denied)).outcome is outcome
    assert screened(command, rules(allow=["Bash"], ask=denied)).outcome is outcome
    assert screened(command, rules(allow=["Bash"])).outcome is ALLOW


def test_agents_and_skills_are_known_by_their_names() -> None:
    agent = ToolUse("Task", {"subagent_type": "Explore", "model": "opus"})
    assert screen(agent, rules(allow=["Agent(Explore)"])).outcome is ALLOW
    assert screen(agent, rules(allow=["Agent(Plan)"])).outcome is ASK
    assert screen(agent, rules(allow=["Agent"], deny=["Task(Explore)"])).outcome is DENY
    assert screen(ToolUse("Skill", {"skill": "deploy"}), rules(allow=["Skill(deploy)"])).outcome is ALLOW
    assert screen(ToolUse("Skill", {"skill": "deploy"}), rules(allow=["Skill(review)"])).outcome is ASK


@pytest.mark.parametrize(
    ("rule", "use", "matches"),
    [
        ("Agent(model:opus)", ToolUse("Agent", {"model": "opus"}), True),
        ("Agent(model : o*)", ToolUse("Agent", {"model": "opus"}), True),
        ("Agent(model:*)", ToolUse("Agent", {}), False),
        ("Agent(model:opus)", ToolUse("Agent", {"deep": {"model": "opus"}}), False),
        ("Bash(run_in_background:true)", ToolUse("Bash", {"command": "ls", "run_in_background": True}), True),
        ("Bash(run_in_background:true)", ToolUse("Bash", {"command": "ls", "run_in_background": False}), False),
        ("mcp__db__query(limit:0)", ToolUse("mcp__db__query", {"limit": 0}), True),
    ],
)
def test_a_parameter_forbids_and_never_allows(rule: str, use: ToolUse, matches: bool) -> None:
    assert screen(use, rules(allow=[use.tool], deny=[rule])).outcome is (DENY if matches else ALLOW)
    assert screen(use, rules(allow=[use.tool], ask=[rule])).outcome is (ASK if matches else ALLOW)
    allowed = parse_rule(rule, Action.ALLOW, HERE)
    assert isinstance(allowed, RuleProblem) or screen(use, Rules([allowed], PLACE)).outcome is ASK


def test_a_restriction_that_nobody_knows_asks() -> None:
    use = ToolUse("WebSearch", {"query": "x"})
    assert screen(use, rules(allow=["WebSearch"], deny=["WebSearch(cats)"])).outcome is ASK
    assert isinstance(parse_rule("WebSearch(cats)", Action.ALLOW, HERE), RuleProblem)


@pytest.mark.parametrize(
    "text", ["", "  ", "Bash(", "Bash)", "Bash()", "Ba sh", "(git *)", "Bash(git *) x", "9x", "Bash\n(x)", "X" * 5000]
)
def test_what_is_no_rule_is_a_problem_with_a_reason(text: str) -> None:
    for action in Action:
        found = parse_rule(text, action, Source(Layer.USER, "settings.json", 3))
        assert isinstance(found, RuleProblem)
        assert "settings.json:3" in str(found)
        assert found.may_forbid is (action in (Action.DENY, Action.ASK))


@pytest.mark.parametrize("text", ["bash(rm *)", "BASH", "read(.env)", "webfetch(domain:x.net)", "MCP__github", "task"])
def test_a_tool_in_the_wrong_case_is_reported_where_it_forbids(text: str) -> None:
    for action in (Action.DENY, Action.ASK):
        found = parse_rule(text, action, HERE)
        assert isinstance(found, RuleProblem)
        assert "write" in found.reason
        assert found.may_forbid
    for right in ("Bash(rm *)", "mcp__Github", "Custom", "*"):
        assert isinstance(parse_rule(right, Action.DENY, HERE), Rule)


def test_parentheses_inside_are_part_of_the_rule() -> None:
    rule = parse_rule("Bash(echo (a) b)", Action.ALLOW, HERE)
    assert isinstance(rule, Rule)
    assert rule.specifier == "echo (a) b"
    assert rule.text == "Bash(echo (a) b)"


def test_exceptions_and_primary_fields_are_refused_with_advice() -> None:
    exception = parse_rule("Read(!src/x)", Action.DENY, HERE)
    assert isinstance(exception, RuleProblem)
    assert not exception.may_forbid
    field = parse_rule("Bash(command:rm *)", Action.DENY, HERE)
    assert isinstance(field, RuleProblem)
    assert "Bash(rm *)" in field.reason
    assert field.may_forbid


def test_nothing_is_allowed_by_rule_while_a_file_cannot_be_read() -> None:
    by = Rules(ruled(Action.ALLOW, ["Bash"]) + ruled(Action.DENY, ["Bash(rm *)"]), PLACE, ["settings.json:3"])
    verdict = screened("ls", by, grants("Bash"))
    assert verdict.outcome is ASK
    assert "settings.json:3" in verdict.reason
    assert screened("rm x", by).outcome is DENY


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "[" * 5000, b"\xff", '{"command": 7}', "{}"])
def test_an_input_that_is_none_asks(text: str | bytes) -> None:
    use = ToolUse.of("Bash", text)
    assert screen(use, rules(allow=["Bash(git *)"])).outcome is ASK
    assert screen(use, rules(allow=["Bash"], deny=["Bash(rm *)"])).outcome is ASK
    assert screen(use, rules(allow=["Bash"])).outcome is (ASK if use.input is None else ALLOW)


def test_the_agents_own_json_is_what_is_screened() -> None:
    use = ToolUse.of("Bash", '{"command": "git\\u0020status", "timeout": 10}')
    assert screen(use, rules(allow=["Bash(git *)"])).outcome is ALLOW


def test_only_grants_count_as_grants() -> None:
    assert screened("ls", rules(), Grants(ruled(Action.ALLOW, ["Bash"]), PLACE)).outcome is ASK


def objected(command: str, by: Rules) -> ScreenOutcome | None:
    verdict = objection(ToolUse("Bash", {"command": command}), by)
    return None if verdict is None else verdict.outcome


def test_an_objection_is_a_deny_an_ask_or_a_doubt_and_never_silence() -> None:
    by = rules(deny=["Bash(rm *)"], ask=["Bash(git push *)"], allow=["Bash(ls *)"])
    assert objected("ls && rm x", by) is DENY
    assert objected("git push", by) is ASK
    assert objected("$(tool)", by) is ASK  # it may run what is denied
    assert objected("ls", by) is objected("make", by) is None
    assert objected("$(tool)", rules(allow=["Bash(ls *)"])) is None
    assert objected("make", Rules([], PLACE, ["settings.json:3"])) is ASK


@pytest.mark.parametrize("tool", sorted(FOR_PEOPLE))
def test_nothing_is_objected_to_a_question(tool: str) -> None:
    assert objection(ToolUse(tool, {}), rules(deny=["*"])) is None


def test_the_segments_of_a_command_are_all_that_it_runs() -> None:
    assert segments(ToolUse("Bash", {"command": "git status && env make | tee x; git status"})) == (
        "git status",
        "env make",
        "make",
        "tee x",
    )
    assert segments(ToolUse("Bash", {"command": "echo 'unclosed"})) == ()
    assert segments(ToolUse("Read", {"file_path": "x"})) == ()


@pytest.mark.parametrize("unread", ["", '{"a": NaN}', "[1]", UNREADABLY_DEEP], ids=["empty", "NaN", "list", "deep"])
def test_no_rule_allows_what_cannot_be_read_and_a_deny_still_holds(unread: str) -> None:
    use = ToolUse.of("mcp__db__run", unread)
    assert screen(use, rules(allow=["mcp__db__run"]), grants("mcp__db__*")).outcome is ASK
    assert screen(use, rules(deny=["mcp__db__run"])).outcome is DENY
