"""Which principal a certificate's names stand for."""

import pytest

from gateway.errors import StartError
from gateway.identity.certificates import Certificate, CertificateUnusable
from gateway.identity.peers import check_names, fit_of
from gateway.settings.listeners import Peer

CORP = "spiffe://corp.example"
TEMPLATE = f"{CORP}/t/{{tenant}}/a/{{agent}}"


def peer(san, tenant="acme", agent="helper", **more):
    return Peer(san=san, tenant=tenant, agent=agent, **more)


def certificate(*uris, dns=()):
    return Certificate(uris=uris, dns=tuple(dns), not_before=0.0, not_after=1.0)


@pytest.mark.parametrize(
    ("san", "shown", "is_it"),
    [
        (f"{CORP}/agent", certificate(f"{CORP}/agent"), True),
        (f"{CORP}/agent", certificate(f"{CORP}/agent2"), False),
        (f"{CORP}/agent", certificate(f"{CORP}/agent/x"), False),
        (f"{CORP}/agent", certificate(f"{CORP}/Agent"), False),
        (f"{CORP}/agent", certificate("spiffe://corpXexample/agent"), False),
        (f"{CORP}/agent", certificate(dns=[f"{CORP}/agent"]), False),
        ("dns:agent.example", certificate(dns=["agent.example"]), True),
        ("dns:Agent.example", certificate(dns=["other", "AGENT.EXAMPLE"]), True),
        ("dns:agent.example", certificate(dns=["*.example"]), False),
        ("dns:agent.example", certificate(dns=["sub.agent.example"]), False),
        ("dns:agent.example", certificate(dns=["agent.example."]), False),
        ("dns:agent.example", certificate("agent.example"), False),
        ("dns:agent.example", certificate(), False),
        ("uri:urn:agent:1", certificate("urn:other", "urn:agent:1"), True),
        ("uri:https://agent.example/a?b", certificate("https://agent.example/a?b"), True),
        ("uri:urn:agent:1", certificate("urn:agent:1/"), False),
        ("uri:urn:agent:1", certificate("URN:agent:1"), False),
    ],
)
def test_a_name_fits_exactly_or_not_at_all(san, shown, is_it):
    """DNS names whatever their case; a wildcard stands for nobody."""
    principal = fit_of(peer(san))(shown)
    assert (principal is not None) == is_it
    if principal is not None:
        assert (principal.tenant, principal.agent, principal.proof) == ("acme", "helper", "mtls")
        assert principal.claims == {"san": san}


def test_a_peer_gives_its_principal_everything_that_it_says():
    """Id, kind, scopes and roles; the id is the agent's name when left out."""
    principal = fit_of(
        peer("dns:a", principal="run-7", principal_kind="workflow", scopes=("web:read",), roles=("assistant",))
    )(certificate(dns=["a"]))
    assert (principal.id, principal.kind, principal.scopes) == ("run-7", "workflow", {"web:read"})
    assert principal.roles == {"assistant"}
    assert fit_of(peer("dns:a"))(certificate(dns=["a"])).id == "helper"


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/t/acme/a/helper", ("acme", "helper")),
        (f"/t/{'x' * 64}/a/A.b_c-1", ("x" * 64, "A.b_c-1")),
        (f"/t/{'x' * 65}/a/helper", None),
        (f"/t/acme/a/{'x' * 65}", None),
        ("/t/acme/a/helper/more", None),
        ("/t/acme/x/a/helper", None),
        ("/t//a/helper", None),
        ("/t/acme/a/", None),
        ("/t/ac me/a/helper", None),
        ("/t/acme/a/helper\n", None),
        ("/t/acme/b/helper", None),
        ("/x/t/acme/a/helper", None),
    ],
)
def test_a_placeholder_stands_for_one_whole_segment(path, named):
    """Of at most 64 characters; tenant, agent and id are what it caught, and policy sees the whole id."""
    principal = fit_of(peer(TEMPLATE, "{tenant}", "{agent}"))(certificate(CORP + path))
    assert (principal and (principal.tenant, principal.agent)) == named
    if principal is not None:
        assert principal.id == principal.agent
        assert principal.claims == {"san": CORP + path}


def test_the_rest_of_a_template_is_no_pattern():
    """A dot is a dot."""
    fit = fit_of(peer(TEMPLATE, "{tenant}", "{agent}"))
    assert fit(certificate("spiffe://corpXexample/t/acme/a/helper")) is None
    assert fit(certificate(dns=["spiffe://corp.example/t/acme/a/helper"])) is None


def test_one_placeholder_alone_will_do():
    """The other is written in the settings."""
    principal = fit_of(peer(f"{CORP}/{{agent}}", "acme", "{agent}"))(certificate(f"{CORP}/mailer"))
    assert (principal.tenant, principal.agent) == ("acme", "mailer")


@pytest.mark.parametrize(
    ("san", "tenant", "agent", "more"),
    [
        (TEMPLATE, "acme", "{agent}", {}),
        (TEMPLATE, "{tenant}", "helper", {}),
        (f"{CORP}/x", "{tenant}", "helper", {}),
        (f"{CORP}/{{tenant}}", "acme", "{agent}", {}),
        (f"{CORP}/{{tenant}}/{{tenant}}", "{tenant}", "helper", {}),
        (f"{CORP}/{{agent}}", "acme", "{tenant}", {}),
        (f"{CORP}/{{agent}}", "{agent}", "{tenant}", {}),
        (f"{CORP}/{{agent}}", "acme-{tenant}", "{agent}", {}),
        (f"{CORP}/{{agent}}", "acme", "{agent}", {"principal": "{agent}"}),
        (f"{CORP}/pre-{{agent}}", "acme", "{agent}", {}),
        (f"{CORP}/{{other}}", "acme", "helper", {}),
        ("spiffe://{tenant}/x", "{tenant}", "helper", {}),
        (CORP, "acme", "helper", {}),
        (f"{CORP}/", "acme", "helper", {}),
        (f"{CORP}/../x", "acme", "helper", {}),
        ("spiffe://Corp.example/x", "acme", "helper", {}),
        ("dns:{agent}", "acme", "{agent}", {}),
        ("uri:urn:{tenant}", "{tenant}", "helper", {}),
        ("dns:a", "{tenant}", "helper", {}),
        ("dns:a", "acme", "{agent}", {}),
        (f"uri:{CORP}/agent", "acme", "helper", {}),
        ("uri:SPIFFE://corp.example/agent", "acme", "helper", {}),
    ],
    ids=str,
)
def test_a_peer_that_contradicts_itself_does_not_start(san, tenant, agent, more):
    """The sentence names the peer."""
    with pytest.raises(StartError) as caught:
        fit_of(peer(san, tenant, agent, **more))
    assert f"the peer {san} cannot be used: " in caught.value.message


@pytest.mark.parametrize(
    "shown",
    [
        certificate(f"{CORP}/a", f"{CORP}/b"),
        certificate(f"{CORP}/a", f"{CORP}/a"),
        certificate("https://x", f"{CORP}/a", dns=["agent.example"]),
        certificate("SPIFFE://corp.example/a", dns=["agent.example"]),
        certificate(CORP, dns=["agent.example"]),
        certificate(f"{CORP}/a?b=c"),
    ],
    ids=str,
)
def test_a_spiffe_id_must_be_alone_and_well_formed(shown):
    """Otherwise the whole certificate is nobody's, by whatever other name."""
    with pytest.raises(CertificateUnusable):
        check_names(shown)


def test_certificates_without_a_spiffe_id_may_have_many_names():
    """The rules are for SPIFFE alone."""
    check_names(certificate("https://a", "urn:b", dns=["c", "d"]))
    check_names(certificate(f"{CORP}/a", dns=["c"]))
    check_names(certificate())
