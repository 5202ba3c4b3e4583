"""Typed readers of environment variables: a value that cannot be read stops the start with one sentence.

Each reader also takes NAME_FILE, a path to a file that holds the value (Docker and Kubernetes secrets).
Imports nothing of Django: settings, the supervisor and the tests read with it.
"""

import base64
import binascii
import os
from collections.abc import Callable
from pathlib import Path

KEY_BYTES = 32
_URL_SAFE = str.maketrans("-_", "+/")


class SettingError(Exception):
    """A setting is missing or cannot be read. The message names it and says what to write."""


def read_text(name: str, default: str | None = None) -> str | None:
    """The value of NAME, or the stripped content of the file named by NAME_FILE, or the default."""
    value, file_name = os.environ.get(name), os.environ.get(f"{name}_FILE")
    if value is not None and file_name is not None:
        raise SettingError(f"{name} and {name}_FILE are both set: keep one of them.")
    if file_name is not None:
        try:
            return Path(file_name).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise SettingError(
                f"{name}_FILE names {file_name}, which cannot be read: {error.strerror}."
            ) from error
    return value if value else default


def read_integer(name: str, default: int, *, minimum: int, maximum: int) -> int:
    return _read(
        name,
        default,
        lambda text: _bounded(int(text), minimum, maximum),
        f"a whole number from {minimum} to {maximum}",
    )


def read_flag(name: str, default: bool) -> bool:
    return _read(
        name,
        default,
        lambda text: {"1": True, "true": True, "0": False, "false": False}[text.lower()],
        "true or false",
    )


def read_list(name: str, default: list[str]) -> list[str]:
    return _read(
        name,
        default,
        lambda text: [part.strip() for part in text.split(",") if part.strip()],
        "a list with commas",
    )


def read_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    return _read(name, default, lambda text: choices[choices.index(text)], "one of " + ", ".join(choices))


def decode_key(name: str, text: str) -> bytes:
    """The 32 bytes of a key in base64, with or without padding, of either alphabet. Raises: SettingError."""
    try:
        key = base64.b64decode(text.translate(_URL_SAFE) + "=" * (-len(text) % 4), validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != KEY_BYTES:
        raise SettingError(f"{name} cannot be read: write {KEY_BYTES} random bytes as base64.")
    return key


def _read[T](name: str, default: T, parse: Callable[[str], T], wanted: str) -> T:
    text = read_text(name)
    if text is None:
        return default
    try:
        return parse(text.strip())
    except (ValueError, KeyError) as error:
        raise SettingError(f"{name} is {text!r}: write {wanted}.") from error


def _bounded(number: int, minimum: int, maximum: int) -> int:
    if not minimum <= number <= maximum:
        raise ValueError(number)
    return number
