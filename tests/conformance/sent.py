"""What an SDK sent, retries included."""

import httpx2


class Sent:
    """Counts requests. `answers_to_lose`: so many of the next answers are lost on their way, after the hub has acted."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.answers_to_lose = 0

    def note(self, request: httpx2.Request) -> None:
        self.requests.append(request)

    def lose(self, response: httpx2.Response) -> None:
        if self.answers_to_lose:
            self.answers_to_lose -= 1
            raise httpx2.ReadError("the answer was lost", request=response.request)

    def clear(self) -> None:
        self.requests.clear()

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.requests]
