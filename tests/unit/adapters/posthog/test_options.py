"""What a connection to PostHog says beside its credential."""

from dataclasses import replace
from typing import Any

import pytest
from fakes.cases.posthog import PROJECT_KEY
from fakes.clock import FakeClock
from fakes.vendor import Desk

from adapters.base import AdapterError, ErrorKind, Happened, Target
from adapters.installed import build_adapters
from adapters.posthog.options import capturing, problems, project_of

HOSTS = ("us.posthog.com", "us.i.posthog.com")


def _target(hosts: tuple[str, ...] = HOSTS, **options: Any) -> Target:
    return Target(name="posthog", hosts=hosts, options=options)


@pytest.mark.parametrize(
    "target",
    [
        _target(project_id=1),
        _target(("us.posthog.com",), project_id="42"),
        _target(project_id=1, project_api_key=PROJECT_KEY),
        _target(
            ("eu.posthog.com", "eu.i.posthog.com"),
            project_id=1,
            base_url="https://eu.posthog.com/",
            project_api_key=PROJECT_KEY,
        ),
        _target(("ph.corp.example",), project_id=1, base_url="https://ph.corp.example", project_api_key=PROJECT_KEY),
        _target(
            ("ph.corp.example", "in.corp.example"),
            project_id=1,
            base_url="https://ph.corp.example",
            capture_url="https://in.corp.example",
            project_api_key=PROJECT_KEY,
        ),
    ],
)
def test_a_sound_connection_has_no_problems(target: Target) -> None:
    """Of either cloud, or of a server of one's own; without the project's key it only reads."""
    assert problems(target) == []
    assert build_adapters(FakeClock())["posthog"].check_target(target) == []


@pytest.mark.parametrize(
    ("target", "word"),
    [
        (_target(), "project_id"),
        (_target(project_id="acme"), "project_id"),
        (_target(project_id=True), "project_id"),
        (_target(project_id="1/../2"), "project_id"),
        (_target(project_id=1, project_api_key="phx_personal0123"), "project_api_key"),
        (_target(project_id=1, project_api_key="phs_secret012345"), "project_api_key"),
        (_target(project_id=1, project_api_key="PHX_secret012345"), "project_api_key"),
        (_target(project_id=1, project_api_key="pha_secret012345"), "project_api_key"),
        (_target(project_id=1, project_api_key=7), "project_api_key"),
        (_target(project_id=1, project_api_key="a b"), "project_api_key"),
        (_target(("us.posthog.com",), project_id=1, project_api_key=PROJECT_KEY), "us.i.posthog.com"),
        (_target(project_id=1, capture_url="http://us.i.posthog.com"), "https"),
        (_target(project_id=1, capture_url="https://evil.test"), "evil.test"),
    ],
)
def test_what_is_wrong_is_told(target: Target, word: str) -> None:
    """A personal key among the options above all: they are shown to people."""
    (problem,) = problems(target)
    assert word in problem
    assert "phx_personal0123" not in problem
    assert "secret012345" not in problem


@pytest.mark.parametrize(
    ("options", "goes_to"),
    [
        ({}, "https://us.i.posthog.com"),
        ({"base_url": "https://eu.posthog.com/"}, "https://eu.i.posthog.com"),
        ({"base_url": "https://ph.corp.example"}, "https://ph.corp.example"),
        ({"base_url": "https://eu.posthog.com", "capture_url": "https://e.corp.example"}, "https://e.corp.example"),
    ],
)
def test_events_go_where_the_project_is(options: dict[str, Any], goes_to: str) -> None:
    """Not from one region into another."""
    invocation = Desk({}, FakeClock(), 1, options={"project_id": 1, "project_api_key": PROJECT_KEY}).invocation({})
    target = _target(project_id=1, project_api_key=PROJECT_KEY, **options)
    key, elsewhere = capturing(replace(invocation, target=target))
    assert (key, elsewhere.target.options["base_url"]) == (PROJECT_KEY, goes_to)
    assert elsewhere.target.hosts == target.hosts


def test_a_connection_that_is_not_set_up_does_nothing() -> None:
    """Certain, and the operator is told which option is missing."""
    invocation = replace(Desk({}, FakeClock(), 1).invocation({}), target=_target())
    for ask, option in ((project_of, "project_id"), (capturing, "project_api_key")):
        with pytest.raises(AdapterError) as caught:
            ask(invocation)
        assert (caught.value.kind, caught.value.happened) == (ErrorKind.INVALID, Happened.NO)
        assert option in caught.value.message
