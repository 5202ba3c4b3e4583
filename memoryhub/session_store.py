"""Sessions of the console: the database keeps a digest of the cookie, so that a copy of it signs nobody in."""

from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from memoryhub.digests import sha256_hex

STORED_KEY_LENGTH = 40  # of 64 hex digits: Django's column holds no more, and 160 bits are enough


def stored_key(session_key: str) -> str:
    return sha256_hex(session_key)[:STORED_KEY_LENGTH]


class SessionStore(DatabaseStore):
    """Django's, with the digest in place of the key wherever a row is named. The hub serves no asynchronous views."""

    def _get_session_from_db(self) -> Any:
        found = self.model.objects.filter(
            session_key=stored_key(self.session_key or ""), expire_date__gt=timezone.now()
        ).first()
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        return self.model.objects.filter(session_key=stored_key(session_key)).exists()

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        row.session_key = stored_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            self.model.objects.filter(session_key=stored_key(key)).delete()
