"""Which MCP servers may be started as processes of this machine. A registry row can only name one of them."""

import re
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from gateway.settings.part import Part

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_MAX_ID = 2**32 - 2


class StdioSettings(Part):
    """One server, which speaks by its stdin and stdout. Its environment is empty but for PATH, HOME and LANG, and what
    it writes to stderr goes nowhere. It can gain no rights by set-user-id programs, and it gets no credential: what it
    has to know is for you to put into its folder.
    """

    command: tuple[str, ...] = Field(min_length=1, max_length=64)
    """The absolute path of a program, and its arguments. No shell reads it; and hold no secret in it, since every user
    of the machine can see the arguments of a process.
    """
    uid: int | None = Field(default=None, ge=1, le=_MAX_ID)
    """The user that it runs as, and that nothing else should run as. Needed, with `gid`, where the gateway is root.
    Where it does not, it cannot be another one than the gateway's own, and can then read whatever the gateway can.
    """
    gid: int | None = Field(default=None, ge=1, le=_MAX_ID)
    """The group that it runs as; it has no other."""
    folder: Path = Path("/")
    """Where it runs, and its HOME."""
    tenants: tuple[str, ...] = ()
    """Whose connections may name it; every tenant's when left out."""

    @field_validator("command")
    @classmethod
    def _is_runnable(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        if not Path(command[0]).is_absolute():
            raise ValueError(f"{command[0]!r} must be an absolute path: no PATH is searched for it")
        if any("\0" in word or len(word) > 4096 for word in command):
            raise ValueError("a word of the command holds a NUL or is longer than 4096 characters")
        return command

    @model_validator(mode="after")
    def _has_whole_user(self) -> Self:
        if (self.uid is None) != (self.gid is None):
            raise ValueError("name both uid and gid, or neither")
        return self


class McpSettings(Part):
    """Upstream MCP servers, beyond those that connections name by URL."""

    stdio: dict[str, StdioSettings] = Field(default_factory=dict)
    """Processes, by the name that a connection's options give as `stdio`."""

    @field_validator("stdio")
    @classmethod
    def _have_names(cls, stdio: dict[str, StdioSettings]) -> dict[str, StdioSettings]:
        for name in stdio:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} must match {_NAME.pattern}")
        return stdio

    def anchored(self, base: Path) -> Self:
        """The same with the folders made absolute."""
        return self.model_copy(update={"stdio": {name: one.anchored(base) for name, one in self.stdio.items()}})
