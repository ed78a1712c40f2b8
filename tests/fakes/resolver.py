"""A `Resolver` whose answers a test writes down."""

import socket


class FakeResolver:
    """Answers each name from its list of answers, one per question; the last one stays.

    `asked` keeps every question. A name that is not written down does not exist.
    """

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self._answers = {name: list(each) for name, each in answers.items()}
        self.asked: list[tuple[str, int]] = []

    async def resolve(self, host: str, port: int) -> list[str]:
        """The next answer for this name."""
        self.asked.append((host, port))
        answers = self._answers.get(host)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]
