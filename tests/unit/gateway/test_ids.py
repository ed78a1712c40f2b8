"""The ids of calls."""

from gateway.ids import CallIds


def test_ids_sort_by_time_and_never_meet() -> None:
    """32 hex digits: milliseconds first, then chance; ten thousand of one moment differ."""
    now = 1_767_225_600.0
    ids = CallIds(lambda: now)
    made = [ids() for _ in range(10_000)]
    assert len(set(made)) == 10_000
    assert {len(one) for one in made} == {32}
    assert {one[:12] for one in made} == {f"{int(now * 1000):012x}"}
    assert CallIds(lambda: now + 0.001)() > max(made)


def test_ids_are_made_of_the_chance_that_they_are_given() -> None:
    """Ten bytes each, none used twice, drawn again when they run out."""
    drawn: list[int] = []

    def chance(count: int) -> bytes:
        drawn.append(count)
        return bytes(index % 251 for index in range(count))

    ids = CallIds(lambda: 0.0, chance)
    made = [ids() for _ in range(drawn[0] // 10 if drawn else 409)]
    assert made[0] == "0" * 12 + bytes(range(10)).hex()
    assert made[1] == "0" * 12 + bytes(range(10, 20)).hex()
    assert drawn == [4096]
    ids()
    assert drawn == [4096, 4096]
