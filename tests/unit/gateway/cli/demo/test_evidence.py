"""The first scene's evidence knows which mail a person had to approve."""

from fakes.demo_evidence import good_evidence

from gateway.cli.demo.errand import ANNOUNCEMENT


def test_announcements_are_found_by_their_subject() -> None:
    """Other mail is none."""
    evidence = good_evidence()
    assert len(evidence.mailbox) == 2
    assert [mail.subject for mail in evidence.announced] == [ANNOUNCEMENT]
