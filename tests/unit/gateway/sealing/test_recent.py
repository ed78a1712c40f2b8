"""A bounded memory of what was used last."""

from gateway.sealing.recent import Recent


def test_what_was_not_used_for_the_longest_time_goes_first() -> None:
    """Looking at something is using it."""
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)
    assert len(recent) == 2


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    """And counts once."""
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("a", 2)
    assert (recent.get("a"), len(recent)) == (2, 1)


def test_what_is_over_can_be_dropped_and_everything_cleared() -> None:
    """Nothing stays behind."""
    recent: Recent[str, int] = Recent(9)
    for number in range(4):
        recent.put(str(number), number)
    recent.drop(lambda value: value < 2)
    assert (recent.get("1"), recent.get("2")) == (None, 2)
    recent.clear()
    assert len(recent) == 0


def test_it_does_not_print_what_it_holds() -> None:
    """It may be a key."""
    recent: Recent[str, str] = Recent(2)
    recent.put("a", "hunter2")
    assert "hunter2" not in repr(recent)
