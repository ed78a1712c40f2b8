"""Where a connection's server is: at a URL, or in a process whose command the settings name."""

from collections.abc import Iterator, Mapping

from adapters.base import Target
from adapters.mcp_upstream.launching import Command, wrong_user
from adapters.transport.base_urls import url_problems

_OPTIONS = ("stdio", "url")


def target_problems(target: Target, commands: Mapping[str, Command]) -> list[str]:
    """A sentence for each thing wrong with a connection to an MCP server; empty when all is well.

    Its options are `{url: https://…}`, with the host among its hosts, or `{stdio: NAME}` of a command in the settings.
    """
    problems = [
        f"options: {name!r} is not known; known are {' and '.join(_OPTIONS)}"
        for name in sorted(target.options.keys() - set(_OPTIONS))
    ]
    named = [option for option in _OPTIONS if option in target.options]
    if len(named) != 1:
        return [*problems, "options: must name either url or stdio"]
    if named == ["url"]:
        return [*problems, *url_problems(target, "url", "")]
    return [*problems, *_stdio_problems(target, commands)]


def command_of(target: Target, commands: Mapping[str, Command]) -> Command | None:
    """The command that the connection names, if the settings let its tenant use it."""
    name = target.options.get("stdio")
    command = commands.get(name) if isinstance(name, str) else None
    if command is None or not command.tenants:
        return command
    return command if target.account.partition("/")[0] in command.tenants else None


def _stdio_problems(target: Target, commands: Mapping[str, Command]) -> Iterator[str]:
    command = command_of(target, commands)
    if command is None:
        yield f"options: stdio names {target.options['stdio']!r}, which the settings do not let this connection use"
    elif wrong_user(command):
        yield f"options: stdio cannot be started, since {wrong_user(command)}"
    if target.hosts:
        yield "hosts: must be empty; a process has none"
    if target.audience:
        yield "assertion: must be left out; a process is not told who calls"
