"""The question whether to trust a project, as text."""

from betcode.v1 import policy_pb2 as v1
from betcode.wording.project_trust import item_lines


def item(path: str, lines: int, count: int = 0) -> v1.ProjectItem:
    details = [f"hook Stop: command {number}" for number in range(lines)]
    return v1.ProjectItem(path=path, brings="hooks (Stop)", details=details, detail_count=count or lines)


def test_each_file_is_followed_by_its_commands() -> None:
    found = v1.InspectProjectResponse(project="/p", items=[item("/p/a", 2), item("/p/b", 1)])
    assert item_lines(found)[1:] == [
        "  /p/a: hooks (Stop)",
        "    hook Stop: command 0",
        "    hook Stop: command 1",
        "  /p/b: hooks (Stop)",
        "    hook Stop: command 0",
    ]


def test_the_lines_are_bounded_and_count_the_missing_ones() -> None:
    found = v1.InspectProjectResponse(project="/p", items=[item(f"/p/{number}", 50, 70) for number in range(20)])
    lines = item_lines(found)
    assert sum("hook Stop: command" in line for line in lines) == 30
    assert lines.count("    and 60 more in this file") == 3
    assert lines.count("    and 70 more in this file") == 9
    assert lines[-1] == "  and 8 more"


def test_details_cannot_control_the_terminal() -> None:
    odd = v1.ProjectItem(path="/p/a", brings="hooks", details=["hook Stop: \x1b[2J\nTrust"], detail_count=1)
    assert item_lines(v1.InspectProjectResponse(project="/p", items=[odd]))[-1] == "    hook Stop: ␛[2J Trust"
