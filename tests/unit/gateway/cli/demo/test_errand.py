"""The errand has every task that the demo promises, and travels as JSON."""

import json

from gateway.cli.demo.errand import ANNOUNCEMENT, BURST, MAIL_KEY, STRANGER, Label, Task, Way, errand

TASKS = errand(article="http://127.0.0.1:1/a", moved="http://127.0.0.1:1/m")


def _of(label: Label) -> Task:
    (found,) = (task for task in TASKS if task.label is label)
    return found


def test_every_label_has_a_task() -> None:
    """Nothing that the checks ask for is left out."""
    assert {task.label for task in TASKS} == set(Label)
    assert sum(task.label is Label.BURST for task in TASKS) == BURST


def test_the_mail_is_sent_twice_with_one_key() -> None:
    """Same tool, same arguments, same key."""
    first, again = _of(Label.MAIL), _of(Label.MAIL_AGAIN)
    assert (first.tool, first.arguments, first.key) == (again.tool, again.arguments, again.key)
    assert first.key == MAIL_KEY


def test_the_strangers_mail_has_a_key_of_its_own() -> None:
    """A denial is not the conflict of a reused key."""
    stranger = _of(Label.STRANGER)
    assert STRANGER in stranger.arguments["to"]
    assert stranger.key != MAIL_KEY


def test_the_call_that_waits_is_followed_asked_for_and_repeated() -> None:
    """Three ways to learn of it; the last is the same call by the same key."""
    parked, again = _of(Label.APPROVAL), _of(Label.APPROVED_AGAIN)
    assert parked.arguments["subject"] == ANNOUNCEMENT
    assert (again.tool, again.arguments, again.key) == (parked.tool, parked.arguments, parked.key)
    assert [(task.way, task.about) for task in TASKS[-4:-1]] == [
        (Way.WATCH, Label.APPROVAL),
        (Way.GET, Label.APPROVAL),
        (Way.CALL, None),
    ]


def test_hidden_and_unknown_are_asked_for_in_the_same_way() -> None:
    """The answers can be compared byte for byte."""
    hidden, unknown = _of(Label.HIDDEN), _of(Label.UNKNOWN)
    assert (hidden.arguments, hidden.key) == (unknown.arguments, unknown.key)


def test_a_task_travels_without_what_is_meant_for_people() -> None:
    """The agent's process gets label, tool, arguments, key, whether to wait, and what it asks about."""
    sent = [json.loads(json.dumps(task.as_json())) for task in TASKS]
    assert all(task.keys() == {"label", "tool", "arguments", "key", "waits", "way", "about"} for task in sent)
    assert [task["label"] for task in sent if task["waits"]] == ["after_burst"]
    assert [task["about"] for task in sent if task["way"] != "call"] == ["approval", "approval"]
