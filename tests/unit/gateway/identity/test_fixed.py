"""The fixed identity of a socket."""

from fakes.principals import bearer, principal

from gateway.identity.fixed import FixedAuthenticator


async def test_whoever_opens_the_socket_is_its_principal():
    """The listener's principal comes back, whatever the request carries."""
    someone = principal()
    assert await FixedAuthenticator(someone).authenticate(bearer("x")) is someone


async def test_it_is_always_ready():
    """There is nothing to wait for."""
    authenticator = FixedAuthenticator(principal())
    await authenticator.start()
    assert authenticator.status().is_ready
    await authenticator.stop()
