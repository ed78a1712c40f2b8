"""Records of the journal: torn ones are counted, damaged ones reported, finished segments believed."""

import pytest
from fakes.files import Disk
from fakes.lines import begin

from gateway.audit.records import Damaged, Ledger, Replayed, decode, encode, encode_begin, replay
from gateway.errors import StartError

HEADER = encode({"type": "header", "format": 1, "writer": "w1", "audit_seq": 7})
LIVE = encode({"type": "live"})


def _disk(**segments: bytes) -> Disk:
    disk = Disk()
    disk.directory("journal").adopt({f"journal-{name[1:]}.log": content for name, content in segments.items()})
    return disk


def _replayed(**segments: bytes) -> Replayed:
    return replay(_disk(**segments).directory("journal"))


def test_a_record_comes_back_as_it_was() -> None:
    """And any flipped bit in it does not."""
    raw = encode({"type": "note", "n": 1})
    assert decode(raw) == {"type": "note", "n": 1}
    for place in range(len(raw)):
        damaged = bytearray(raw)
        damaged[place] ^= 1
        with pytest.raises(Damaged):
            decode(bytes(damaged))


@pytest.mark.parametrize("raw", [b"", b"\n", b"\0" * 40, encode({"no": "type"}), b"00000000 \n"])
def test_what_is_not_a_record_is_damaged(raw: bytes) -> None:
    """Zeros, emptiness, a record without a type."""
    with pytest.raises(Damaged):
        decode(raw)


def test_text_that_is_not_utf8_does_not_keep_a_call_from_beginning() -> None:
    """A lone surrogate is replaced."""
    assert decode(encode_begin(begin("c1", run_id="\ud800")))["run_id"] == "?"


def test_a_torn_last_record_is_ignored_and_counted() -> None:
    """A crash in the middle of a write costs that record alone."""
    raw = encode_begin(begin("c1"))
    found = _replayed(s1=HEADER + LIVE + raw + encode_begin(begin("c2"))[:20])
    assert list(found.ledger.begins.values()) == [raw]
    assert (found.torn, found.ledger.audit_seq) == (1, 7)


def test_zeros_at_the_end_are_room_that_was_not_used() -> None:
    """As every crash leaves a mapped file: nothing was torn. Half a record before them was."""
    assert _replayed(s1=HEADER + LIVE + b"\0" * 4096).torn == 0
    half = encode_begin(begin("c2"))[:20]
    assert _replayed(s1=HEADER + LIVE + half + b"\0" * 4096).torn == 1


@pytest.mark.parametrize("gap", [b"\0" * 4096, b"\0" * 32 + b'egin"}\n', b'00000000 {"ty' + b"\0" * 50 + b'"}\n'])
def test_a_gap_of_zeros_before_whole_records_is_what_a_crash_left(gap: bytes) -> None:
    """Pages reach the disk in any order, and so do the bytes of one copy: what stands behind the gap counts."""
    before, after = encode_begin(begin("c1")), encode_begin(begin("c3"))
    found = _replayed(s1=HEADER + LIVE + before + gap + encode_begin(begin("c2")) + after)
    assert (found.ledger.begins["call:c1"], found.ledger.begins["call:c3"]) == (before, after)
    assert found.torn == 1


@pytest.mark.parametrize("content", [b"\0" * 32 + HEADER[32:] + LIVE, HEADER + b"\0" * 99 + b"\n" + LIVE])
def test_a_gap_before_the_mark_makes_an_unfinished_segment(content: bytes) -> None:
    """What was to be carried over may be in the gap: the segment before is believed."""
    first = encode_begin(begin("c1"))
    found = _replayed(s1=HEADER + first + LIVE, s2=content + encode_begin(begin("c2")))
    assert list(found.ledger.begins.values()) == [first]


def test_a_damaged_record_in_the_middle_names_file_and_line() -> None:
    """Nothing is guessed: the gateway does not start."""
    raw = encode_begin(begin("c1"))
    with pytest.raises(StartError, match=r"journal-1.log, line 3, is damaged"):
        _replayed(s1=HEADER + LIVE + raw.replace(b"acme", b"evil") + raw)


def test_an_unfinished_segment_counts_for_nothing() -> None:
    """Without its mark a segment was cut off while it copied what was alive: the one before is believed."""
    first, second = encode_begin(begin("c1")), encode_begin(begin("c2"))
    found = _replayed(s1=HEADER + first + LIVE + second, s2=HEADER + first)
    assert set(found.ledger.begins.values()) == {first, second}
    assert found.next_number == 3


def test_a_finished_segment_replaces_those_before() -> None:
    """What is not alive in it is over."""
    found = _replayed(s1=HEADER + encode_begin(begin("c1")) + LIVE, s2=HEADER + LIVE)
    assert found.ledger.begins == {}
    assert found.segments == ("journal-1.log", "journal-2.log")


def test_a_journal_of_another_version_is_refused() -> None:
    """The message says which version can read it."""
    header = encode({"type": "header", "format": 2, "writer": "w1", "audit_seq": 0})
    with pytest.raises(StartError, match="start the version that wrote it"):
        _replayed(s1=header + LIVE)


def test_an_empty_journal_is_a_beginning() -> None:
    """Nothing is alive, and the first segment has number 1."""
    found = _replayed()
    assert (found.ledger, found.next_number, found.torn) == (Ledger(), 1, 0)


def test_what_is_alive_is_what_began_and_has_not_ended() -> None:
    """Calls of our own, and those that were adopted; one that was forgotten is not."""
    ledger = Ledger()
    for call_id, is_adopted in (("c1", False), ("c2", True), ("c3", False)):
        raw = encode_begin(begin(call_id), is_adopted=is_adopted)
        ledger.apply(decode(raw), raw)
    forgotten = {"type": "forgotten", "kind": "call", "call_id": "c3"}
    ledger.apply(forgotten, encode(forgotten))
    assert [decode(raw)["type"] for raw in ledger.snapshot()] == ["begin", "adopted"]
    ledger.end("call", "c1", 3)
    assert ([decode(raw)["call_id"] for raw in ledger.snapshot()], ledger.audit_seq) == (["c2"], 3)


def test_a_record_of_a_later_version_is_left_alone() -> None:
    """Whoever wrote it knows what it means."""
    ledger = Ledger()
    later = {"type": "later", "call_id": "c1"}
    ledger.apply(later, encode(later))
    assert ledger == Ledger()
