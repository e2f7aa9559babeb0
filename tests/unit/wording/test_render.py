"""Events as lines for people."""

import pytest

from betcode.v1 import agent_pb2 as v1
from betcode.wording.render import Describer, turn_summary


@pytest.mark.parametrize(
    ("usage", "says"),
    [
        (v1.UsageReport(duration_ms=2500), "2.5 s"),
        (
            v1.UsageReport(duration_ms=40, input_tokens=1200, output_tokens=7, cost_usd=0.5),
            "0.0 s, 1,200 tokens in, 7 out, $0.5000",
        ),
        (v1.UsageReport(), ""),
    ],
)
def test_uncounted_usage_is_not_mentioned(usage: v1.UsageReport, says: str) -> None:
    assert turn_summary(usage) == says


def test_a_reused_answer_is_marked() -> None:
    given = v1.PermissionResolved(request_id="r2", resolution="answered", decision=v1.DENY, rule="the answer to r1")
    lines = Describer().describe(v1.AgentEvent(permission_resolved=given))
    assert lines == ["Denied", "Answer reused from before the agent crashed"]
