"""The second scene's case, and what its agent does about it step by step."""

from enum import StrEnum
from typing import Any

CUSTOMER = "ann.lee@customer.example"
COMPLAINT = {
    "from": CUSTOMER,
    "text": "Hello, my card shows two charges of 20 dollars for the same order. Could you look into it? Ann",
}
TEAM = "SUP"
CHANNEL = "support"
AMOUNT = 2000
CURRENCY = "usd"


class Step(StrEnum):
    """Which call of the agent's an answer belongs to."""

    CUSTOMER = "customer"
    CHARGES = "charges"
    TEAMS = "teams"
    ISSUE = "issue"
    REFUND = "refund"
    FOLLOWED = "followed"
    REFUND_AGAIN = "refund_again"
    CHANNELS = "channels"
    MESSAGE = "message"
    MAIL = "mail"


SAYS = (
    (Step.CUSTOMER.value, "find the customer"),
    (Step.CHARGES.value, "look at her charges"),
    (Step.TEAMS.value, "find the team"),
    (Step.ISSUE.value, "open an issue"),
    (Step.REFUND.value, "ask for the refund"),
    (Step.FOLLOWED.value, "follow the parked call"),
    (Step.REFUND_AGAIN.value, "call again, same key"),
    (Step.CHANNELS.value, "find the channel"),
    (Step.MESSAGE.value, "tell the colleagues"),
    (Step.MAIL.value, "write to the customer"),
)
"""In order, with what each is in words."""
TOOLS = {
    Step.CUSTOMER: "stripe_list_customers",
    Step.CHARGES: "stripe_list_charges",
    Step.TEAMS: "linear_list_teams",
    Step.ISSUE: "linear_create_issue",
    Step.REFUND: "stripe_create_refund",
    Step.FOLLOWED: "stripe_create_refund",
    Step.REFUND_AGAIN: "stripe_create_refund",
    Step.CHANNELS: "slack_list_channels",
    Step.MESSAGE: "slack_post_message",
    Step.MAIL: "email_send",
}

Json = dict[str, Any]
