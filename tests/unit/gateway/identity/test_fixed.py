"""The fixed identity of a socket."""

from fakes.principals import principal

from gateway.identity.fixed import FixedAuthenticator


def test_whoever_opens_the_socket_is_its_principal():
    """The listener's principal comes back, whatever the metadata."""
    someone = principal()
    assert FixedAuthenticator(someone).authenticate((("authorization", "Bearer x"),)) is someone
