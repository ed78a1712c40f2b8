"""The second scene's agent: a process of its own that knows a socket, and what a customer wrote.

Run as `python -m gateway.cli.demo.refund.agent SOCKET`. The complaint comes on standard input as JSON; each answer
goes to standard output as one line of JSON as soon as it is there. What it does next depends on what it is told.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.cli.client import Client, connected, where
from gateway.cli.demo.agent import CALL_SECONDS, do
from gateway.cli.demo.errand import Way
from gateway.cli.demo.refund.steps import CHANNEL, TEAM, TOOLS, Step
from gateway.errors import StartError

Json = dict[str, Any]
Tell = Callable[[Json], None]


class GivesUp(Exception):  # noqa: N818 - the agent's end, and no error of ours
    """What the agent was told is not what it can go on with."""


def main(arguments: list[str]) -> int:
    """The process's exit code: 0 when the case is closed."""
    complaint = json.load(sys.stdin)
    try:
        to = where(socket=Path(arguments[0]), address="", token_file=None)
        with connected(to, timeout_seconds=CALL_SECONDS) as client:
            _tell({"kind": "tools", "tools": client.tools()})
            Agent(client, _tell).handle(complaint)
    except StartError as error:
        sys.stderr.write(error.message + "\n")
        return 1
    except GivesUp as end:
        sys.stderr.write(f"{end}\n")
        return 3
    return 0


class Agent:
    """Works on one complaint."""

    def __init__(self, client: Client, tell: Tell) -> None:
        self._client = client
        self._tell = tell

    def handle(self, complaint: Json) -> None:
        """From the letter to the answer. Raises `GivesUp`, and `StartError` when an answer did not come."""
        customer = _only(self._read(Step.CUSTOMER, {"email": complaint["from"]})["customers"])
        again = _double(self._read(Step.CHARGES, {"customer": customer["id"]})["charges"])
        issue = self._open_issue(complaint, again)
        self._refund(again)
        self._report(customer, again, issue)

    def _open_issue(self, complaint: Json, charge: Json) -> Json:
        teams = self._read(Step.TEAMS, {})["teams"]
        team = _only([team for team in teams if team["key"] == TEAM])
        text = f"The customer wrote:\n\n> {complaint['text']}\n\nThe charge {charge['id']} repeats an earlier one."
        return self._read(
            Step.ISSUE,
            {"team_id": team["id"], "title": f"Charged twice: {charge['customer']}", "description": text},
            key=f"issue-{charge['id']}",
        )

    def _refund(self, charge: Json) -> None:
        """Ask for it, wait for whoever decides, and ask once more by the same key, as an agent does that forgets."""
        arguments = {"payment": charge["id"], "amount_minor": charge["amount"], "currency": charge["currency"]}
        key = f"refund-{charge['id']}"
        parked = self._ask(Step.REFUND, arguments, key=key)
        if "pending" in parked:
            self._ask(Step.FOLLOWED, {}, way=Way.WATCH, about=parked["call_id"])
        self._read(Step.REFUND_AGAIN, arguments, key=key)

    def _report(self, customer: Json, charge: Json, issue: Json) -> None:
        channels = self._read(Step.CHANNELS, {})["channels"]
        channel = _only([channel for channel in channels if channel["name"] == CHANNEL])
        message = f"{issue['identifier']}: the charge {charge['id']} was a double one and is refunded."
        self._read(Step.MESSAGE, {"channel": channel["id"], "text": message}, key=f"message-{charge['id']}")
        mail = {
            "to": [customer["email"]],
            "subject": "Your refund",
            "text": "Hello Ann,\nyou were charged twice, and we have refunded the second charge. We are sorry.\n",
        }
        self._read(Step.MAIL, mail, key=f"mail-{charge['id']}")

    def _read(self, step: Step, arguments: Json, *, key: str = "") -> Json:
        """What the tool gave. Raises `GivesUp` when it gave nothing."""
        value = self._ask(step, arguments, key=key)
        if "result" not in value:
            raise GivesUp(f"{step}: {value.get('error', {}).get('reason', 'no result')}")
        return dict(value["result"]["structured"])

    def _ask(self, step: Step, arguments: Json, *, key: str = "", way: Way = Way.CALL, about: str = "") -> Json:
        task = {"label": step.value, "tool": TOOLS[step], "arguments": arguments, "key": key, "way": way.value}
        told = do(self._client, task, about)
        self._tell(told)
        return dict(told["value"])


def _double(charges: list[Json]) -> Json:
    """The later of two that are alike: neither failed, and nothing of either was given back."""
    good = [charge for charge in charges if charge["status"] == "succeeded" and not charge["amount_refunded"]]
    alike = [
        charge for charge in good if (charge["amount"], charge["currency"]) == (good[0]["amount"], good[0]["currency"])
    ]
    if len(alike) != 2:
        raise GivesUp("there are not exactly two charges that are alike")
    return max(alike, key=lambda charge: (charge["created"], charge["id"]))


def _only(found: list[Json]) -> Json:
    if len(found) != 1:
        raise GivesUp(f"there should be one, and there are {len(found)}")
    return found[0]


def _tell(value: Json) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
