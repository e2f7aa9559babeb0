"""The campaigns of a machine: registered, and their directories agree."""

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from betcode.campaigns import Campaigns, campaign_here, survey
from betcode.domain.obey.campaign_errors import AmbiguousCampaign, CampaignNotFound, CampaignUnusable
from betcode.util.bounded_io import BoundedIOPool
from support.obey.campaigns import FIRST, SECOND, RegistryFile, make_campaign
from support.patience import PATIENCE_S
from support.storage.hung_disk import hung_disk

pytestmark = pytest.mark.anyio


def campaigns(registry: RegistryFile) -> Campaigns:
    return Campaigns(registry.environ, BoundedIOPool())


async def test_a_campaign_is_found_by_id_beginning_and_name(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "home")
    one, two = make_campaign(tmp_path / "a"), make_campaign(tmp_path / "b", SECOND, "two")
    registry.add(one)
    registry.add(two)
    known = campaigns(registry)
    assert await known.all() == [one, two]
    for text, meant in ((FIRST, one), (FIRST[:4], one), ("two", two), (SECOND[:3], two)):
        assert await known.find(text) == meant
    with pytest.raises(AmbiguousCampaign):
        await known.find("0b")
    with pytest.raises(CampaignNotFound):
        await known.find("three")


async def test_a_registry_that_changes_is_read_again(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "home")
    known = campaigns(registry)
    assert await known.all() == []
    registry.add(one := make_campaign(tmp_path / "a"))
    assert await known.all() == [one]
    registry.write("{")
    with pytest.raises(CampaignUnusable, match="is not JSON"):
        await known.find(FIRST)
    assert await known.all() == []


async def test_a_root_that_is_reached_by_a_link_is_the_place_it_leads_to(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "home")
    one = make_campaign(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    registry.add(one, path=str(tmp_path / "link"))
    assert (await campaigns(registry).find("one")).root == tmp_path / "real"
    assert await campaigns(registry).of_directory(tmp_path / "link") == one


def gone(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))


def a_file(root: Path) -> None:
    gone(root)
    root.write_text("")


def link_to_another(root: Path) -> None:
    gone(root)
    root.symlink_to(make_campaign(root.with_name("other"), SECOND).root)


def link_to_the_system(root: Path) -> None:
    gone(root)
    root.symlink_to("/etc")


def link_to_itself(root: Path) -> None:
    gone(root)
    root.symlink_to(root)


def no_marker(root: Path) -> None:
    (root / ".campaign").rename(root / "campaign")


def marker_is_a_link(root: Path) -> None:
    no_marker(root)
    (root / ".campaign").symlink_to(root / "campaign")


def marker_is_a_file(root: Path) -> None:
    no_marker(root)
    (root / ".campaign").write_text("")


def identity(text: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / ".campaign" / "campaign.yaml").write_text(text)

    return change


def identity_is_a_link(root: Path) -> None:
    path = root / ".campaign" / "campaign.yaml"
    path.rename(root / "mine.yaml")
    path.symlink_to(root / "mine.yaml")


def identity_is_a_pipe(root: Path) -> None:
    path = root / ".campaign" / "campaign.yaml"
    path.unlink()
    os.mkfifo(path)


BOMB = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijk"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (gone, "does not exist"),
        (a_file, "is not a directory"),
        (link_to_another, f"campaign.yaml says '{SECOND}'"),
        (link_to_the_system, "/etc has no .campaign directory"),
        (link_to_itself, "Too many levels of symbolic links"),
        (no_marker, "has no .campaign directory"),
        (marker_is_a_link, ".campaign is a link"),
        (marker_is_a_file, ".campaign is not a directory"),
        (identity_is_a_link, "campaign.yaml is a link"),
        (identity_is_a_pipe, "campaign.yaml cannot be read: it is not a regular file"),
        (identity("id: [unclosed"), "campaign.yaml is not YAML, line "),
        (identity("id: a\n\tname: b"), "campaign.yaml is not YAML, line 2"),
        (identity("- a\n- b"), "must hold keys and their values"),
        (identity(f"id: {FIRST}\nid: {SECOND}"), "has 'id' twice"),
        (identity(f"id: {SECOND}\nname: one"), f"the registry has the id '{FIRST}'"),
        (identity(f"id: {FIRST}\nname: other"), "the registry has the name 'one'"),
        (identity("a: " + "[" * 60_000), "is nested too deep"),
        (identity("- " * 30_000), "must hold keys and their values"),
        (identity("? " * 30_000), "is nested too deep"),
        (identity("just a text"), "must hold keys and their values"),
        (identity("id: \x00"), "cannot be parsed as YAML"),
        (identity("# " + "x" * 70_000), "is longer than 65536 bytes"),
        (identity("a: b\n---\nc: d"), "has more than one document"),
    ],
)  # fmt: skip
async def test_a_campaign_whose_directory_does_not_agree_is_told_in_a_sentence(
    tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    registry = RegistryFile(tmp_path / "home")
    registry.add(make_campaign(tmp_path / "one"))
    two = make_campaign(tmp_path / "two", SECOND, "two")
    registry.add(two)
    spoil(tmp_path / "one")
    with pytest.raises(CampaignUnusable) as refusal:
        await campaigns(registry).find(FIRST)
    assert words in refusal.value.message
    assert "\n" not in refusal.value.message
    seen = await campaigns(registry).survey()
    assert seen.campaigns == (two,)
    assert seen.troubles == (refusal.value.message,)
    assert survey(registry.environ) == seen


async def test_what_unfolds_to_a_million_values_costs_nothing(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "home")
    registry.add(one := make_campaign(tmp_path / "one"))
    (tmp_path / "one/.campaign/campaign.yaml").write_text(f"id: {FIRST}\n{BOMB}")
    with anyio.fail_after(PATIENCE_S):
        assert (await campaigns(registry).find("one")).root == one.root


async def test_a_tag_makes_nothing(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "home")
    registry.add(make_campaign(tmp_path / "one"))
    command = f"!!python/object/apply:os.system ['touch {tmp_path}/made']"
    (tmp_path / "one/.campaign/campaign.yaml").write_text(f"id: {command}\nname: {command}\n")
    assert len(await campaigns(registry).all()) == 1  # such a value is none
    assert not (tmp_path / "made").exists()


async def test_everything_is_no_campaign(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "home")
    registry.add(make_campaign(tmp_path / "one"), path="/")
    with pytest.raises(CampaignUnusable, match="/ is the root of the file system"):
        await campaigns(registry).find("one")


async def test_a_directory_belongs_to_the_nearest_campaign_that_is_registered(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "home")
    outer, inner = make_campaign(tmp_path / "out"), make_campaign(tmp_path / "out/projects/in", SECOND, "inner")
    registry.add(outer)
    registry.add(inner)
    (tmp_path / "out/src").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "out/projects")
    known = campaigns(registry)
    assert await known.of_directory(tmp_path / "out/src") == outer
    assert await known.of_directory(inner.root) == inner
    assert await known.of_directory(tmp_path / "alias/in") == inner
    for nowhere in (tmp_path, tmp_path / "none", Path("relative"), tmp_path / "out/none"):
        assert await known.of_directory(nowhere) is None
    make_campaign(tmp_path / "out/stranger", "unregistered", "x")
    assert await known.of_directory(tmp_path / "out/stranger") is None


def test_camp_root_counts_where_it_is_one(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "home")
    one, two = make_campaign(tmp_path / "one"), make_campaign(tmp_path / "two", SECOND, "two")
    registry.add(one)
    registry.add(two)
    assert campaign_here(one.root, registry.environ) == one
    assert campaign_here(one.root, {**registry.environ, "CAMP_ROOT": str(two.root)}) == two
    for no_root in (str(tmp_path), "two", "/", str(tmp_path / "none"), "/a\0b"):
        assert campaign_here(one.root, {**registry.environ, "CAMP_ROOT": no_root}) == one
    assert campaign_here(tmp_path, registry.environ) is None


async def test_a_disk_that_hangs_spoils_its_own_campaign_alone(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "home")
    registry.add(make_campaign(tmp_path / "hung"))
    registry.add(two := make_campaign(tmp_path / "two", SECOND, "two"))
    known = Campaigns(registry.environ, BoundedIOPool(0.2))
    with hung_disk(tmp_path / "hung") as disk, anyio.fail_after(PATIENCE_S):
        seen = await known.survey()
        assert seen.campaigns == (two,)
        assert "cannot be read (timeout)" in seen.troubles[0]
        assert await known.find("two") == two
        assert disk.on_a_loop == []
