"""The demo's agent: a process of its own that knows a socket and an errand, and nothing else.

Run as `python -m gateway.cli.demo.agent SOCKET`. The errand comes on standard input, as a JSON list of
tasks; each answer goes to standard output as one line of JSON as soon as it is there.
"""

import hashlib
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from gateway.cli.client import Answered, Asked, Client, connected, where
from gateway.cli.demo.errand import Way
from gateway.errors import StartError

LONGEST_WAIT_SECONDS = 10.0
CALL_SECONDS = 40.0

Json = dict[str, Any]


def main(arguments: list[str]) -> int:
    """The process's exit code: 0 when every task got an answer, whatever it was."""
    tasks = json.load(sys.stdin)
    try:
        to = where(socket=Path(arguments[0]), address="", token_file=None)
        with connected(to, timeout_seconds=CALL_SECONDS) as client:
            run(client, tasks)
    except StartError as error:
        sys.stderr.write(error.message + "\n")
        return 1
    return 0


def run(client: Client, tasks: list[Json]) -> None:
    """List the tools, then do the tasks in order. Raises `StartError` when an answer did not come."""
    _tell({"kind": "tools", "tools": client.tools()})
    retry_after_ms = 0
    made: dict[str, str] = {}
    for task in tasks:
        if task["waits"]:
            threading.Event().wait(min(retry_after_ms / 1000, LONGEST_WAIT_SECONDS))
        told = do(client, task, made.get(task["about"], ""))
        made[task["label"]] = told["value"]["call_id"]
        retry_after_ms = told["value"].get("error", {}).get("retry_after_ms", 0) or retry_after_ms
        _tell(told)


def do(client: Client, task: Json, call_id: str) -> Json:
    """One task's answer, with the digest of its outcome's bytes and how long it took. `call_id` is of the call that
    it asks about.
    """
    began = time.perf_counter()
    answered = _answer(client, task, call_id)
    return {
        "kind": task["way"],
        "label": task["label"],
        "tool": task["tool"],
        "value": answered.value,
        "outcome_sha256": hashlib.sha256(answered.outcome).hexdigest(),
        "milliseconds": round((time.perf_counter() - began) * 1000, 1),
    }


def _answer(client: Client, task: Json, call_id: str) -> Answered:
    if task["way"] == Way.GET:
        return client.get(call_id)
    if task["way"] == Way.WATCH:
        *_, last = client.watch(call_id)
        return last
    return client.call(Asked(tool=task["tool"], arguments_json=json.dumps(task["arguments"]).encode(), key=task["key"]))


def _tell(value: Json) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
