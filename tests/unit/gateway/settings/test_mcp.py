"""Which processes may be started as MCP servers."""

from pathlib import Path
from typing import Any

import pydantic
import pytest

from gateway.settings.mcp import McpSettings

TIME = {"command": ["/usr/bin/mcp-server-time"], "uid": 2001, "gid": 2001}


def test_commands_by_name() -> None:
    """With their user; where it is left out, it is for the gateway to refuse."""
    settings = McpSettings.model_validate({"stdio": {"time": TIME, "own": {"command": ["/bin/x", "--flag"]}}})
    assert settings.stdio["time"].uid == 2001
    assert (settings.stdio["own"].uid, settings.stdio["own"].command) == (None, ("/bin/x", "--flag"))


def test_none_by_default() -> None:
    """Nothing can be started that nobody named."""
    assert McpSettings().stdio == {}


def test_folders_count_from_the_settings() -> None:
    """Relative ones."""
    settings = McpSettings.model_validate({"stdio": {"time": {**TIME, "folder": "time"}}}).anchored(Path("/etc/t"))
    assert settings.stdio["time"].folder == Path("/etc/t/time")


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("Time", {}, "must match"),
        ("time\n", {}, "must match"),
        ("time", {"command": []}, "at least 1"),
        ("time", {"command": ["npx", "server"]}, "absolute path"),
        ("time", {"command": ["/bin/x", "a\0b"]}, "NUL"),
        ("time", {"uid": 0}, "greater than or equal"),
        ("time", {"gid": None}, "both uid and gid"),
        ("time", {"environment": {"TOKEN": "sesame"}}, "not permitted"),
        ("time", {"shell": True}, "not permitted"),
    ],
)
def test_what_is_not_safe_is_refused(name: str, change: dict[str, Any], told: str) -> None:
    """With a sentence that says why. An environment is not taken: it would be where secrets end up."""
    with pytest.raises(pydantic.ValidationError, match=told):
        McpSettings.model_validate({"stdio": {name: {**TIME, **change}}})


def test_a_folder_counts_from_where_the_settings_are() -> None:
    """As every path of the settings does, also below a name."""
    settings = McpSettings.model_validate({"stdio": {"git": {"command": ["/bin/true"], "folder": "git"}}})
    assert settings.anchored(Path("/etc/tollhouse")).stdio["git"].folder == Path("/etc/tollhouse/git")
