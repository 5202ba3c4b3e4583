"""Sessions of the console: the database keeps a digest of the cookie, so that a copy of it signs nobody in.

A row also tells its owner which browser that is and when it was last used, to the minute. No address is kept.
"""

from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from memoryhub.digests import sha256_hex
from memoryhub.models import BrowserSession

STORED_KEY_LENGTH = 40  # of 64 hex digits: Django's column holds no more, and 160 bits are enough
LAST_USED_GRAIN = timedelta(seconds=60)
# In the session's data, from the moment of signing in.
BROWSER, SIGNED_IN_AT = "browser", "signed_in_at"
SIGNED_IN_BY_LINK = "signed_in_by_link"  # a link lets one choose a password that was forgotten


def stored_key(session_key: str) -> str:
    return sha256_hex(session_key)[:STORED_KEY_LENGTH]


class SessionStore(DatabaseStore):
    """Django's, with the digest in place of the key wherever a row is named. The hub serves no asynchronous views."""

    @classmethod
    def get_model_class(cls) -> type[BrowserSession]:
        return BrowserSession

    def _get_session_from_db(self) -> Any:
        now = timezone.now()
        rows = BrowserSession.objects.filter(session_key=stored_key(self.session_key or ""))
        found = rows.filter(expire_date__gt=now).first()
        if found is None:
            self._session_key = None
        elif now - found.last_used_at > LAST_USED_GRAIN:
            rows.update(last_used_at=now)
        return found

    def exists(self, session_key: str) -> bool:
        return self.model.objects.filter(session_key=stored_key(session_key)).exists()

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = cast(BrowserSession, super().create_model_instance(data))
        row.session_key = stored_key(row.session_key)
        row.user_id = data.get(SESSION_KEY)
        row.browser = data.get(BROWSER, "")
        row.signed_in_at = datetime.fromisoformat(data[SIGNED_IN_AT]) if SIGNED_IN_AT in data else None
        row.last_used_at = timezone.now()
        return row

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            self.model.objects.filter(session_key=stored_key(key)).delete()
