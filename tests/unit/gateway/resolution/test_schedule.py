"""When to ask again."""

from gateway.resolution.schedule import PAUSES, Schedule

AT = ("acme", "c1")


def _due_after(schedule: Schedule, now: float) -> float:
    """How many seconds from now it is due, to the tenth of a second."""
    return next(tenths / 10 for tenths in range(100_000) if schedule.due(now + tenths / 10, 1))


def test_questions_become_rare() -> None:
    """After 5 and 30 seconds, 2 and 10 minutes, then every hour."""
    schedule, now, pauses = Schedule(lambda: 0.5), 0.0, []
    schedule.are("acme", ["c1"], now)
    for _ in range(7):
        pauses.append(_due_after(schedule, now))
        now += pauses[-1]
        schedule.asked(AT, now)
    assert pauses == [*PAUSES, PAUSES[-1], PAUSES[-1]]


def test_chance_spreads_them() -> None:
    """By a fifth each way."""
    found = []
    for chance in (0.0, 1.0):
        schedule = Schedule(lambda chance=chance: chance)  # type: ignore[misc]
        schedule.are("acme", ["c1"], 0.0)
        found.append(_due_after(schedule, 0.0))
    assert found == [4.0, 6.0]


def test_the_longest_due_come_first() -> None:
    """And no more of them than were asked for."""
    schedule = Schedule(lambda: 0.5)
    for number in (3, 1, 2):
        schedule.are(f"t{number}", ["c"], float(number))
    assert schedule.due(100.0, 2) == [("t1", "c"), ("t2", "c")]


def test_what_is_seen_again_keeps_its_turn() -> None:
    """And what is not seen any more is forgotten, of this tenant alone."""
    schedule = Schedule(lambda: 0.5)
    schedule.are("acme", ["c1", "c2"], 0.0)
    schedule.are("other", ["c1"], 0.0)
    schedule.asked(AT, 5.0)
    schedule.are("acme", ["c1"], 6.0)
    assert len(schedule) == 2
    assert schedule.due(6.0, 9) == [("other", "c1")]
    assert schedule.due(35.0, 9) == [("other", "c1"), AT]


def test_what_is_known_is_forgotten() -> None:
    """Twice does no harm."""
    schedule = Schedule(lambda: 0.5)
    schedule.are("acme", ["c1"], 0.0)
    schedule.forget(AT)
    schedule.forget(AT)
    assert len(schedule) == 0
