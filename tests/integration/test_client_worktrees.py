"""The client library and worktrees."""

from contextlib import aclosing
from pathlib import Path

import pytest

from betcode.client import NewConversation, NewWorktree, Refused, SessionKind
from support.git.repositories import git, make_repository
from support.git.worktree_commands import SCRIPT
from support.providers.claude_world import demo_sessions

pytestmark = pytest.mark.anyio


async def test_a_worktree_from_its_making_to_its_end(tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop", {SCRIPT: "#!/bin/sh\necho ready\n"})
    async with demo_sessions(tmp_path) as (_, client):
        worktrees = client.worktrees
        await client.policy.trust(str(shop), trusted=True)
        made = await worktrees.create(NewWorktree(str(shop), "fix", create_branch=True))
        assert Path(made.path) == tmp_path / "shop-fix"
        async with aclosing(worktrees.setup_output(made.id)) as pieces:
            assert b"".join([piece.data async for piece in pieces]) == b"ready\n"
        assert [one.path for one in await worktrees.repositories()] == [str(shop)]
        branches = {one.name: one.worktree_id for one in await worktrees.branches(str(shop))}
        assert branches["fix"] == made.id
        switched = await worktrees.switch(made.id, SessionKind(provider="demo"))
        session = await client.start_session(NewConversation(str(shop), provider="demo", in_active_worktree=True))
        page = await client.list_sessions(worktree_id=made.id)
        assert {one.id for one in page.sessions} == {session, switched.session_id}
        (tmp_path / "shop-fix/new").write_text("1")
        with pytest.raises(Refused) as refused:
            await worktrees.remove(made.id)
        assert refused.value.code == "WORKTREE_HAS_CHANGES"
        assert list((await worktrees.inspect(made.id)).untracked) == ["new"]
        done = await worktrees.remove(made.id, force=True)
        assert done.sessions_closed == 2
        assert [one.id for one in await worktrees.removed()] == [done.removed_id]
        back = await worktrees.restore(str(shop), done.removed_id)
        assert git(Path(back.path), "status", "--short") == "?? new"
        async with aclosing(worktrees.report(str(shop))) as reports:
            assert {one.worktree.name: one.may_be_removed async for one in reports} == {"shop": False, "fix": False}
