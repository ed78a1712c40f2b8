"""The second scene's steps are all in words, and each has its tool."""

from gateway.cli.demo.refund.steps import AMOUNT, COMPLAINT, CURRENCY, CUSTOMER, SAYS, TOOLS, Step


def test_every_step_has_words_and_a_tool() -> None:
    """In the order in which they come."""
    assert [label for label, _ in SAYS] == [step.value for step in Step]
    assert set(TOOLS) == set(Step)
    assert all(words for _, words in SAYS)


def test_the_agent_is_told_who_wrote_and_what_and_nothing_else() -> None:
    """Neither the customer's id nor a charge: it has to find them."""
    assert set(COMPLAINT) == {"from", "text"}
    assert COMPLAINT["from"] == CUSTOMER
    assert not [word for word in ("cus_", "ch_", "pi_") if word in COMPLAINT["text"]]
    assert (AMOUNT, CURRENCY) == (2000, "usd")
