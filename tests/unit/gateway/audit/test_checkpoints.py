"""What a checkpoint says, and how it is written."""

import pytest

from gateway.audit.chain import Link
from gateway.audit.checkpoints import Checkpoint, Stand, merged, parse, stands_of, text_of
from gateway.audit.lines import Standing
from gateway.audit.notes import BadNote

A, B = "a" * 64, "b" * 64
TEXT = f"""gw/audit
number 7
time 2026-01-01T00:00:00.000000Z
writer w1 12 {A}
tenant w1 acme%20inc%0A 5 {B}
"""


def test_a_checkpoint_is_lines_of_words() -> None:
    """A tenant's name is one word, whatever it holds; reading gives back what was written."""
    checkpoint = Checkpoint(
        origin="gw/audit",
        number=7,
        time="2026-01-01T00:00:00.000000Z",
        stands=(Stand("w1", None, 12, A), Stand("w1", "acme inc\n", 5, B)),
    )
    assert text_of(checkpoint) == TEXT
    assert parse(TEXT, "gw/audit") == checkpoint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gw/audit\n",
        TEXT.replace("number 7", "number 07"),
        TEXT.replace("time ", "when "),
        TEXT.replace("writer", "reader"),
        TEXT.replace(A, A[:-1]),
        TEXT.replace("acme%20inc%0A", "acme inc"),
    ],
)
def test_what_says_anything_else_is_none(text: str) -> None:
    """Signed or not: what cannot be understood is not passed over."""
    with pytest.raises(BadNote):
        parse(text, "gw/audit")


def test_its_origin_is_the_key_that_signed_it() -> None:
    """A key that is used for something else as well signs no checkpoints by that."""
    with pytest.raises(BadNote, match="origin"):
        parse(TEXT, "other/audit")


def test_all_chains_of_a_writer_are_listed() -> None:
    """Its own first, then the tenants by name."""
    standing = Standing("w1", 12, A, {"b": Link(2, B), "a": Link(9, A)})
    assert stands_of(standing) == (Stand("w1", None, 12, A), Stand("w1", "a", 9, A), Stand("w1", "b", 2, B))


def test_other_writers_are_carried_on() -> None:
    """And one's own is replaced."""
    known = (Stand("w1", "acme", 1, A), Stand("w3", "acme", 4, A))
    assert merged(known, Stand("w1", "acme", 2, B)) == (Stand("w1", "acme", 2, B), Stand("w3", "acme", 4, A))
    assert merged((), Stand("w2", "acme", 1, A)) == (Stand("w2", "acme", 1, A),)
