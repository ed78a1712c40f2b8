"""Where a connection's credential goes: the URL of an API, of its token endpoint, or of whatever else it names."""

import ipaddress
from collections.abc import Iterable

from adapters.base import Target
from adapters.transport.urls import UrlProblem, canonical_url


def target_problems(target: Target, base_url: str, options: Iterable[str] = ()) -> list[str]:
    """A sentence for each thing wrong with a connection to an API; `options` are those beside `base_url`."""
    known = {"base_url", *options}
    problems = [
        f"options: {name!r} is not known; known are {', '.join(sorted(known))}"
        for name in sorted(target.options.keys() - known)
    ]
    return [*problems, *url_problems(target, "base_url", base_url)]


def url_problems(target: Target, option: str, default: str) -> list[str]:
    """A sentence for each thing wrong with where a connection's credential goes: what the option says, or `default`."""
    text = target.options.get(option, default)
    try:
        url = canonical_url(text if isinstance(text, str) else "")
    except UrlProblem as problem:
        return [f"options: {option} {problem.message}"]
    problems = []
    if "?" in text or "#" in text:  # as it is written: what comes after would swallow every path
        problems.append(f"options: {option} must not have a query or a fragment")
    if url.scheme != "https" and not _is_loopback(url.host):
        problems.append(f"options: {option} must be https; the credential would be readable on the way")
    shown = f"[{url.host}]" if ":" in url.host else url.host
    if url.host not in target.hosts and f"{shown}:{url.port}" not in target.hosts:
        problems.append(f"hosts: must name {shown}: it is where the credential goes")
    return problems


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
