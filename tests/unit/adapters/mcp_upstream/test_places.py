"""Where a connection's server is."""

from typing import Any

import pytest
from fakes.mcp_wire import command_of

from adapters.base import Target
from adapters.mcp_upstream.launching import Command
from adapters.mcp_upstream.places import command_of as named
from adapters.mcp_upstream.places import target_problems

COMMANDS = {"time": command_of(), "theirs": Command(argv=("/bin/x",), uid=1, gid=1, tenants=("other",))}


def _target(options: dict[str, Any], **more: Any) -> Target:
    return Target(name="crm", account="acme/crm", options=options, **more)


@pytest.mark.parametrize(
    "target",
    [
        _target({"url": "https://crm.example.com/mcp"}, hosts=("crm.example.com",), audience="crm"),
        _target({"url": "http://127.0.0.1:8000/mcp"}, hosts=("127.0.0.1:8000",)),
        _target({"stdio": "time"}),
    ],
)
def test_good_ones(target: Target) -> None:
    """A URL whose host is named, or a command that the settings name."""
    assert target_problems(target, COMMANDS) == []


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (_target({}), "either url or stdio"),
        (_target({"url": "https://a.example/mcp", "stdio": "time"}), "either url or stdio"),
        (_target({"url": "https://a.example/mcp"}), "hosts: must name"),
        (_target({"url": "http://a.example/mcp"}, hosts=("a.example",)), "must be https"),
        (_target({"url": "https://a.example/mcp?token=x"}, hosts=("a.example",)), "query"),
        (_target({"url": 7}, hosts=("a.example",)), "url"),
        (_target({"stdio": "nowhere"}), "do not let"),
        (_target({"stdio": ["/bin/sh", "-c", "id"]}), "do not let"),
        (_target({"stdio": "theirs"}), "do not let"),
        (_target({"stdio": "time"}, hosts=("a.example",)), "hosts: must be empty"),
        (_target({"stdio": "time"}, audience="crm"), "assertion"),
        (_target({"stdio": "time", "command": "/bin/sh"}), "'command' is not known"),
        (_target({"stdio": "time", "environment": {}}), "'environment' is not known"),
    ],
)
def test_bad_ones(target: Target, told: str) -> None:
    """With a sentence for each. A row can only name a command, and never say one."""
    problems = target_problems(target, COMMANDS)
    assert any(told in problem for problem in problems), problems


def test_a_command_that_cannot_have_its_user() -> None:
    """Is told before anything is called."""
    (problem,) = target_problems(_target({"stdio": "x"}), {"x": Command(argv=("/bin/x",), uid=3, gid=None)})
    assert "cannot be started" in problem


def test_commands_of_some_tenants() -> None:
    """Are nobody else's."""
    assert named(Target(name="x", account="other/x", options={"stdio": "theirs"}), COMMANDS) is COMMANDS["theirs"]
    assert named(_target({"stdio": "theirs"}), COMMANDS) is None
