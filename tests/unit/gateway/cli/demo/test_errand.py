"""The errand has every task that the demo promises, and travels as JSON."""

import json

from gateway.cli.demo.errand import BURST, MAIL_KEY, STRANGER, Label, errand

TASKS = errand(article="http://127.0.0.1:1/a", moved="http://127.0.0.1:1/m")


def test_every_label_has_a_task() -> None:
    """Nothing that the checks ask for is left out."""
    assert {task.label for task in TASKS} == set(Label)
    assert sum(task.label is Label.BURST for task in TASKS) == BURST


def test_the_mail_is_sent_twice_with_one_key() -> None:
    """Same tool, same arguments, same key."""
    first, again = (next(task for task in TASKS if task.label is label) for label in (Label.MAIL, Label.MAIL_AGAIN))
    assert (first.tool, first.arguments, first.key) == (again.tool, again.arguments, again.key)
    assert first.key == MAIL_KEY


def test_the_strangers_mail_has_a_key_of_its_own() -> None:
    """A denial is not the conflict of a reused key."""
    stranger = next(task for task in TASKS if task.label is Label.STRANGER)
    assert STRANGER in stranger.arguments["to"]
    assert stranger.key != MAIL_KEY


def test_hidden_and_unknown_are_asked_for_in_the_same_way() -> None:
    """The answers can be compared byte for byte."""
    hidden, unknown = (next(task for task in TASKS if task.label is label) for label in (Label.HIDDEN, Label.UNKNOWN))
    assert (hidden.arguments, hidden.key) == (unknown.arguments, unknown.key)


def test_a_task_travels_without_what_is_meant_for_people() -> None:
    """The agent's process gets label, tool, arguments, key and whether to wait."""
    sent = [json.loads(json.dumps(task.as_json())) for task in TASKS]
    assert all(task.keys() == {"label", "tool", "arguments", "key", "waits"} for task in sent)
    assert [task["waits"] for task in sent] == [False] * (len(TASKS) - 1) + [True]
