"""What a fork is called that was given no name."""

import pytest

from betcode.domain.store.rows import SessionState
from betcode.engine.operations.fork import name_after


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (SessionState(name="the `shop`", preview="Done."), "the `shop` (fork)"),
        (SessionState(preview="## Done\n\n```python\nx = 1\n```\n**So**\x1b, it is"), "Done x = 1 So , it is (fork)"),
        (SessionState(), "(fork)"),
    ],
)
def test_it_is_named_after_its_source_without_marks(source: SessionState, name: str) -> None:
    assert name_after(source) == name
