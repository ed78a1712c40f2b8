"""What is said to a mail server to sign in. It is as secret as the credential that it is made of."""

import base64

from adapters.base import Invocation, Secret
from adapters.email.account import Account


def plain(username: str, password: str) -> str:
    """The one answer of SASL's PLAIN."""
    return _coded(f"\0{username}\0{password}")


def xoauth2(username: str, token: str) -> str:
    """The one answer of XOAUTH2."""
    return _coded(f"user={username}\1auth=Bearer {token}\1\1")


def tell(invocation: Invocation, account: Account) -> None:
    """The invocation learns in what form its credential goes over the wire: a server may repeat it."""
    value = invocation.credential.reveal() if invocation.credential is not None else ""
    if not value:
        return
    forms = [xoauth2(account.username, value)]
    if account.method == "password":
        forms = [plain(account.username, value), _coded(value)]  # the second one is that of LOGIN
    for form in forms:
        invocation.learn(Secret(form))


def _coded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
