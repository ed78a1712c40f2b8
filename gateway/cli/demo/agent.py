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

from gateway.cli.client import Asked, Client, connected, where
from gateway.errors import StartError

LONGEST_WAIT_SECONDS = 10.0
CALL_SECONDS = 20.0

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
    for task in tasks:
        if task["waits"]:
            threading.Event().wait(min(retry_after_ms / 1000, LONGEST_WAIT_SECONDS))
        told = do(client, task)
        retry_after_ms = told["value"].get("error", {}).get("retry_after_ms", 0) or retry_after_ms
        _tell(told)


def do(client: Client, task: Json) -> Json:
    """One task's answer, with the digest of its outcome's bytes and how long it took."""
    began = time.perf_counter()
    asked = Asked(tool=task["tool"], arguments_json=json.dumps(task["arguments"]).encode(), key=task["key"])
    answered = client.call(asked)
    return {
        "kind": "call",
        "label": task["label"],
        "tool": task["tool"],
        "value": answered.value,
        "outcome_sha256": hashlib.sha256(answered.outcome).hexdigest(),
        "milliseconds": round((time.perf_counter() - began) * 1000, 1),
    }


def _tell(value: Json) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
