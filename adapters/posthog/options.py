"""What a connection to PostHog says beside its credential.

The credential is a personal API key (`phx_…`), which reads. What is captured is told by the project's own key
(`phc_…`), which PostHog puts into every web page and does not count as a secret: it is the option `project_api_key`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Target
from adapters.transport.base_urls import url_problems

BASE_URL = "https://us.posthog.com"
OPTIONS = ("project_id", "project_api_key", "capture_url")
_CAPTURE: Mapping[str, str] = {
    "https://us.posthog.com": "https://us.i.posthog.com",
    "https://eu.posthog.com": "https://eu.i.posthog.com",
}
"""Where the clouds take events; elsewhere it is where all else is."""
_PROJECT = re.compile(r"[0-9]{1,12}")
_KEY = re.compile(r"[A-Za-z0-9_-]{8,128}")
_SECRET = re.compile(r"ph[abd-z]_.*", re.IGNORECASE)


def problems(target: Target) -> list[str]:
    """A sentence for each thing wrong with the options; empty when all is well."""
    found = []
    if _project(target) is None:
        found.append("options: project_id must be the number of the project, as in its settings")
    key = target.options.get("project_api_key")
    if key is not None and not _is_key(key):
        found.append("options: project_api_key must be the project's own key (phc_…), which is no secret at PostHog")
    if key is not None or "capture_url" in target.options:
        found += url_problems(target, "capture_url", _capture_url(target))
    return found


def project_of(invocation: Invocation) -> str:
    """The number of the connection's project. Raises `AdapterError`."""
    project = _project(invocation.target)
    if project is None:
        raise _not_set_up("names no project; its operator has to add the option project_id.")
    return project


def capturing(invocation: Invocation) -> tuple[str, Invocation]:
    """The project's key, and the invocation as it goes to where events are taken. Raises `AdapterError`."""
    key = invocation.target.options.get("project_api_key")
    if not _is_key(key):
        raise _not_set_up("cannot capture events; its operator has to add the option project_api_key.")
    options = {"base_url": _capture_url(invocation.target)}
    return str(key), replace(invocation, target=replace(invocation.target, options=options))


def _project(target: Target) -> str | None:
    project: Any = target.options.get("project_id")
    text = str(project) if isinstance(project, int | str) and not isinstance(project, bool) else ""
    return text if _PROJECT.fullmatch(text) else None


def _is_key(key: Any) -> bool:
    """Every other key of PostHog's (`phx_…`, `phs_…`) is a secret, and must not be where options are shown."""
    return isinstance(key, str) and _KEY.fullmatch(key) is not None and not _SECRET.fullmatch(key)


def _capture_url(target: Target) -> str:
    base = str(target.options.get("base_url", BASE_URL)).rstrip("/")
    return str(target.options.get("capture_url", _CAPTURE.get(base, base)))


def _not_set_up(what: str) -> AdapterError:
    return AdapterError(ErrorKind.INVALID, f"The connection {what}", happened=Happened.NO)
