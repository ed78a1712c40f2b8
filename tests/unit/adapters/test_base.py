"""The contract's own types: what they hide and what they say."""

import copy
import pickle  # noqa: TID251 - it is shown to be impossible
from dataclasses import FrozenInstanceError

import pytest

from adapters.base import (
    AdapterError,
    ArgumentIssue,
    ArgumentProblem,
    Binary,
    ErrorKind,
    Happened,
    Invocation,
    Output,
    Secret,
    Target,
    Text,
)


def test_a_secret_gives_its_value_to_those_who_ask_alone() -> None:
    """Printing, formatting and comparing do not."""
    secret = Secret("hunter2")
    assert secret.reveal() == "hunter2"
    assert "hunter2" not in f"{secret} {secret!r} {secret:>10} {[secret]} {{'a': {secret!r}}}"
    assert secret != Secret("hunter2")
    assert hash(secret) == hash(secret)


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_secret_cannot_be_copied_away(take) -> None:
    """Neither pickled nor copied, and the refusal does not tell."""
    with pytest.raises(TypeError) as caught:
        take(Secret("hunter2"))
    assert "hunter2" not in str(caught.value)


def test_a_dropped_secret_is_empty() -> None:
    """After the invocation nothing is left to find."""
    secret = Secret("hunter2")
    secret.drop()
    assert secret.reveal() == ""


def test_an_invocation_prints_neither_arguments_nor_credential() -> None:
    """Only where it goes and until when."""
    invocation = Invocation(
        arguments={"text": "private"},
        target=Target(name="t"),
        credential=Secret("hunter2"),
        deadline=1.0,
        effect_id="e",
    )
    assert "private" not in repr(invocation)
    assert "hunter2" not in repr(invocation)
    assert "'t'" in repr(invocation)


def test_an_output_does_not_print_content() -> None:
    """Structured output and blocks stay out of logs."""
    output = Output(
        structured={"a": "private"}, content=(Text(text="private"), Binary(mime_type="x/y", data=b"private"))
    )
    assert "private" not in repr(output)
    assert "private" not in repr(output.content)


def test_an_error_says_its_kind_and_our_sentence() -> None:
    """And nothing else."""
    error = AdapterError(ErrorKind.CONFLICT, "It is taken.", happened=Happened.NO)
    assert str(error) == "conflict: It is taken."
    assert (error.fault, error.retry_after_seconds, error.attempts) == (None, None, 1)


def test_a_problem_names_places_and_rules_but_no_values() -> None:
    """Its text may reach a log; the messages are for the agent."""
    problem = ArgumentProblem(
        ArgumentIssue(path="/a", rule="x", message="'private' is wrong"),
        ArgumentIssue(path="/b", rule="y", message="m"),
    )
    assert str(problem) == "/a: x; /b: y"
    assert [issue.path for issue in problem.issues] == ["/a", "/b"]


def test_targets_are_frozen() -> None:
    """An adapter cannot change a connection."""
    with pytest.raises(FrozenInstanceError):
        Target(name="t").name = "u"  # type: ignore[misc]
