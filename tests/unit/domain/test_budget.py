"""Limits and amounts, with literals."""

from betcode.domain.sessions.budget import NO_BUDGET, Amounts, OnReached, describe, limited, raised, reached, set_to


def test_without_limits_there_is_no_budget() -> None:
    assert set_to(Amounts(), OnReached.REFUSE) == NO_BUDGET
    assert not NO_BUDGET
    assert reached(NO_BUDGET, Amounts(1e6, 10**9, 10**6, 10**9)) == ()


def test_a_limit_is_reached_when_all_of_it_is_spent() -> None:
    budget = set_to(Amounts(cost_usd=0.3, tokens=100, turns=2, duration_ms=60_000), OnReached.ASK)
    assert limited(budget) == ("cost", "tokens", "turns", "time")
    assert reached(budget, Amounts(0.29, 99, 1, 59_999)) == ()
    assert reached(budget, Amounts(0.1 + 0.2, 100, 2, 60_000)) == ("cost", "tokens", "turns", "time")
    assert reached(budget, Amounts(0.0, 0, 3, 0)) == ("turns",)


def test_raising_gives_the_same_amount_again_beyond_what_was_spent() -> None:
    budget = set_to(Amounts(cost_usd=1.0, turns=5), OnReached.ASK)
    once = raised(budget, Amounts(cost_usd=1.75, turns=3))
    assert once.limits == Amounts(cost_usd=2.75, turns=5)
    twice = raised(once, Amounts(cost_usd=3.0, turns=5))
    assert twice.limits == Amounts(cost_usd=4.0, turns=10)
    assert reached(twice, Amounts(cost_usd=3.0, turns=5)) == ()


def test_amounts_are_shown_for_people() -> None:
    amounts = Amounts(cost_usd=2.5, tokens=1_234_567, turns=1, duration_ms=5_430_000)
    assert describe(amounts, ("cost", "tokens", "turns", "time")) == "$2.5, 1,234,567 tokens, 1 turn, 1 h 30 min 30 s"
    assert describe(Amounts(duration_ms=1_500), ("time",)) == "1.5 s"
