"""A redirect is judged like a first URL and carries nothing that could be a credential."""

import pytest
from fakes.transport import ask

from adapters.base import AdapterError, ErrorKind
from adapters.transport.redirects import MAX_REDIRECTS, check_host, redirected

SECRETS = {
    "Authorization": "Bearer s3cret",
    "Cookie": "s=3cret",
    "X-Api-Key": "s3cret",
    "Proxy-Authorization": "s3cret",
}


def _kind(location: str, url: str = "https://a.example/", taken: int = 0) -> ErrorKind:
    with pytest.raises(AdapterError) as caught:
        redirected(ask(url), location, taken)
    return caught.value.kind


@pytest.mark.parametrize("location", ["/next", "https://a.example/next", "https://b.example/next"])
def test_no_credential_goes_along(location: str) -> None:
    """Not to another site and not to the same one."""
    request = ask("https://a.example/", headers={**SECRETS, "User-Agent": "x", "accept": "text/html"})
    assert redirected(request, location, 0).headers == {"User-Agent": "x", "accept": "text/html"}


def test_from_https_to_http_is_not_followed() -> None:
    """What was asked for under TLS is not fetched in the open; the other way is fine."""
    assert _kind("http://a.example/") is ErrorKind.ADDRESS_REFUSED
    assert redirected(ask("http://a.example/"), "https://a.example/", 0).url.text == "https://a.example/"


@pytest.mark.parametrize(
    "location", ["ftp://a.example/", "https://u:p@a.example/", "file:///etc/passwd", "https://:80/", "\\\\x"]
)
def test_what_is_no_plain_url_is_not_followed(location: str) -> None:
    """The same rules as for a first URL."""
    assert _kind(location) is ErrorKind.ADDRESS_REFUSED


def test_the_hops_are_counted() -> None:
    """Five are taken, a sixth is not."""
    assert redirected(ask("https://a.example/"), "/x", MAX_REDIRECTS - 1).url.path == "/x"
    assert _kind("/x", taken=MAX_REDIRECTS) is ErrorKind.MALFORMED


@pytest.mark.parametrize("hosts", [(), ("a.example",), ("a.example:443",), ("b.example", "a.example")])
def test_a_host_of_the_connection_passes(hosts: tuple[str, ...]) -> None:
    """By name or by name and port; without any, all do."""
    check_host(ask("https://a.example/", hosts=hosts))


@pytest.mark.parametrize("hosts", [("::1",), ("[::1]",), ("[::1]:8443",)])
def test_an_ipv6_address_passes_in_every_form_that_a_connection_may_have(hosts: tuple[str, ...]) -> None:
    """With a port it has brackets; another port is another place."""
    check_host(ask("https://[::1]:8443/", hosts=hosts))
    with pytest.raises(AdapterError):
        check_host(ask("https://[::1]:8444/", hosts=("[::1]:8443", "::1:8444", "::2")))


@pytest.mark.parametrize("hosts", [("b.example",), ("a.example:8443",), ("example",), ("*.example",)])
def test_another_host_is_refused(hosts: tuple[str, ...]) -> None:
    """Names are compared exactly."""
    with pytest.raises(AdapterError) as caught:
        check_host(ask("https://a.example/", hosts=hosts))
    assert caught.value.kind is ErrorKind.ADDRESS_REFUSED
