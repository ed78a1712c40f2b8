"""The person types what a person would, and approves nothing that she did not find."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway.cli.demo.person import AGENTS_REASON, REASON, approve_itself, decide
from gateway.cli.demo.project import AGENT, PERSON

CONTROL = Path("/people/control.sock")


class Shell:
    """Notes what is typed and prints what a test put into it, a command each."""

    def __init__(self, *answers: tuple[int, str, str]) -> None:
        self.typed: list[tuple[str, ...]] = []
        self._answers = list(answers)

    async def __call__(self, words: Sequence[str]) -> tuple[int, str, str]:
        """The next answer."""
        self.typed.append(tuple(words))
        return self._answers.pop(0)


def _prints(value: Any) -> tuple[int, str, str]:
    return 0, json.dumps(value) + "\n", ""


async def test_she_lists_reads_stops_and_approves_the_one_that_waits() -> None:
    """By the id that the list told, with her reason, all at the control socket."""
    listed = {"approvals": [{"approval_id": "apr_1"}]}
    shell = Shell(*map(_prints, (listed, {"a": 1}, {"b": 2}, {"c": 3})))
    typed = await decide(CONTROL, shell)
    assert [words[:3] for words in shell.typed] == [
        ("approvals", "list", "--socket"),
        ("approvals", "show", "apr_1"),
        ("stop", "set", "tool"),
        ("approvals", "approve", "apr_1"),
    ]
    assert all(words[-3:] == ("--socket", str(CONTROL), "--json") for words in shell.typed)
    assert (typed[-1].words[-1], typed[-1].told) == (REASON, {"c": 3})
    assert {one.who for one in typed} == {PERSON}


async def test_where_nothing_waits_or_more_than_one_she_stops() -> None:
    """The demo has one call that waits; anything else is a finding and not to be approved."""
    for waiting in ([], [{"approval_id": "a"}, {"approval_id": "b"}]):
        shell = Shell(_prints({"approvals": waiting}))
        assert len(await decide(CONTROL, shell)) == 1
        assert len(shell.typed) == 1


async def test_the_agent_tries_its_own_socket() -> None:
    """What it was told is kept without the command's name."""
    shell = Shell((2, "", "tollhouse: what answers there does not serve this\n"))
    tried = await approve_itself("apr_1", Path("/gateway.sock"), shell)
    assert shell.typed == [
        ("approvals", "approve", "apr_1", "--reason", AGENTS_REASON, "--socket", "/gateway.sock", "--json")
    ]
    assert (tried.who, tried.exit_code, tried.told) == (AGENT, 2, {})
    assert tried.complaint == "what answers there does not serve this"


async def test_what_is_no_object_is_nothing() -> None:
    """The evidence then says that it is missing; nothing is raised."""
    for printed in ("", "nonsense", "[1]"):
        (listed,) = await decide(CONTROL, Shell((0, printed, "")))
        assert listed.told == {}
