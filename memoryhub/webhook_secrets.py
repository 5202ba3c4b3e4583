"""The secrets that sign: made here, sealed at rest, shown once, and two of them valid while one takes the other's place."""

from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub.encryption import CannotOpen, key_name, open_seal, seal
from memoryhub.errors import Unavailable
from memoryhub.notice_models import Webhook
from memoryhub.rows import find_row
from memoryhub.webhook_signing import new_secret

_SEALED = ("sealed", "sealed_with", "old_sealed", "old_sealed_with")


def give_secret(webhook: Webhook) -> str:
    """A step: a new secret, sealed into the row, which is not saved. Raises: Unavailable without a key to seal with."""
    if not settings.ENCRYPTION_KEYS:
        raise Unavailable("This hub has no key to seal secrets with: set MEMORYHUB_ENCRYPTION_KEY.")
    secret = new_secret()
    webhook.sealed_with, webhook.sealed = _seal(webhook, secret)
    return secret


def _seal(webhook: Webhook, secret: str) -> tuple[str, bytes]:
    return seal(settings.ENCRYPTION_KEYS, secret, belongs_to=webhook.wire_id)


def open_secrets(webhook: Webhook) -> list[str]:
    """The secrets that sign now, the newest first. Raises: CannotOpen."""
    found = [_open(webhook, webhook.sealed_with, bytes(webhook.sealed))]
    if webhook.old_until is not None and webhook.old_until > timezone.now():
        assert webhook.old_sealed is not None and webhook.old_sealed_with is not None
        found.append(_open(webhook, webhook.old_sealed_with, bytes(webhook.old_sealed)))
    return found


def _open(webhook: Webhook, sealed_with: str, sealed: bytes) -> str:
    return open_seal(settings.ENCRYPTION_KEYS, sealed_with, sealed, belongs_to=webhook.wire_id)


def reseal_all() -> int:
    """As `secrets.reseal_all`: what an older key sealed is sealed under the first; how many. Raises: CannotOpen."""
    newest, resealed = key_name(settings.ENCRYPTION_KEYS[0]), 0
    older = ~Q(sealed_with=newest) | Q(old_sealed_with__isnull=False) & ~Q(old_sealed_with=newest)
    while keys := list(Webhook.objects.filter(older).values_list("id", flat=True)):
        resealed += sum(_reseal(key) for key in keys)
    return resealed


@atomic
def _reseal(key: UUID) -> bool:
    webhook = find_row(Webhook.objects.select_for_update(no_key=True).filter(id=key))
    if webhook is None:
        return False
    secret = _open(webhook, webhook.sealed_with, bytes(webhook.sealed))
    webhook.sealed_with, webhook.sealed = _seal(webhook, secret)
    if webhook.old_sealed is not None and webhook.old_sealed_with is not None:
        _reseal_old(webhook, webhook.old_sealed_with, bytes(webhook.old_sealed))
    webhook.save(update_fields=_SEALED)
    return True


def _reseal_old(webhook: Webhook, sealed_with: str, sealed: bytes) -> None:
    """One that signs no more, and whose key is gone, goes too."""
    is_over = webhook.old_until is None or webhook.old_until <= timezone.now()
    try:
        webhook.old_sealed_with, webhook.old_sealed = _seal(webhook, _open(webhook, sealed_with, sealed))
    except CannotOpen:
        if not is_over:
            raise
        webhook.old_sealed_with = webhook.old_sealed = webhook.old_until = None
