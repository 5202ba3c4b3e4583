"""An SMTP server over a real socket: it keeps what it takes, and refuses when it is told to."""

import email
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from typing import BinaryIO


@dataclass
class Post:
    """`taken`: (envelope's recipients, the message). `refuses`: how many of the next messages are refused."""

    port: int = 0
    taken: list[tuple[list[str], Message]] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    refuses: int = 0

    def serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError), connection.makefile("rwb") as stream:
            self._talk(stream)

    def _talk(self, stream: BinaryIO) -> None:
        self._say(stream, "220 test")
        recipients: list[str] = []
        while line := stream.readline().decode().strip():
            word = line.split(" ")[0].upper()
            if word == "EHLO":
                stream.write(b"250-test\r\n")
                self._say(stream, "250 AUTH PLAIN")
            elif word == "AUTH":
                self.logins.append(line)
                self._say(stream, "235 yes")
            elif word == "RCPT":
                recipients.append(line.partition("<")[2].rstrip(">"))
                self._say(stream, "250 yes")
            elif word == "DATA":
                self._take(stream, recipients)
            elif word == "QUIT":
                self._say(stream, "221 bye")
                return
            else:
                self._say(stream, "250 yes")

    def _take(self, stream: BinaryIO, recipients: list[str]) -> None:
        self._say(stream, "354 go on")
        lines = []
        while (line := stream.readline()) != b".\r\n":
            lines.append(line)
        if self.refuses:
            self.refuses -= 1
            self._say(stream, "451 not now")
            return
        self.taken.append((list(recipients), email.message_from_bytes(b"".join(lines))))
        self._say(stream, "250 taken")

    @staticmethod
    def _say(stream: BinaryIO, line: str) -> None:
        stream.write(line.encode() + b"\r\n")
        stream.flush()


@contextmanager
def post_office() -> Iterator[Post]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=16)
    post = Post(listener.getsockname()[1])

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=post.serve, args=[connection], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield post
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
