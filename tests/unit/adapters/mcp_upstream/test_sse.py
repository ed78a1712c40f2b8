"""Server-sent events in whatever pieces they come."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.mcp_upstream import sse
from adapters.mcp_upstream.sse import Events, Flood

STREAM = (
    b'\xef\xbb\xbf: hello\r\n\r\nid: 1\r\ndata:\r\n\r\nevent: message\ndata: {"a":\ndata: 1}\n\n'
    b"event: endpoint\ndata: /old\n\nretry: 10\rdata: {}\r\rdata:two\n\ndata: never ended"
)


def _read(*pieces: bytes, most: int = 1000) -> list[bytes]:
    events = Events(most)
    return [data for piece in pieces for data in events.feed(piece)]


def test_events() -> None:
    """Lines of data are joined; comments, other names, empty events and an unfinished one bring nothing."""
    assert _read(STREAM) == [b'{"a":\n1}', b"{}", b"two"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_pieces_do_not_matter(cuts: list[int]) -> None:
    """Wherever the stream is cut, between a return and its newline too."""
    edges = [0, *sorted(cuts), len(STREAM)]
    assert _read(*(STREAM[a:b] for a, b in itertools.pairwise(edges))) == _read(STREAM)


@pytest.mark.parametrize(
    "flood", [b"data: " + b"x" * 200, b":" + b"x" * 200, b"data: 123456789\n" * 20, b"data:\n" * 200]
)
def test_nothing_grows_without_end(flood: bytes) -> None:
    """Neither a line without an end, nor a comment, nor an event of many lines."""
    with pytest.raises(Flood):
        _read(flood, most=100)


def test_endless_comments_cost_no_memory() -> None:
    """Each is forgotten at its end."""
    events = Events(100)
    for _ in range(10_000):
        assert list(events.feed(b": still here\n\n")) == []
    assert list(events.feed(b"data: 1\n\n")) == [b"1"]


def test_short_lines_without_an_end_are_a_flood_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """They cost no memory, and all the time there is."""
    monkeypatch.setattr(sse, "MAX_LINES", 1000)
    events = Events(100)
    assert list(events.feed(b"\n" * 1000)) == []
    with pytest.raises(Flood):
        list(events.feed(b"\n"))
