"""`./hub reseal_secrets`: seals every secret anew under the newest encryption key, while the hub runs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub import secrets, webhook_secrets
from memoryhub.encryption import CannotOpen


class Command(BaseCommand):
    help = "Seal every secret under the newest encryption key, so that the older ones can be thrown away."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = secrets.reseal_all() + webhook_secrets.reseal_all()
        except CannotOpen as error:
            raise CommandError(f"A secret cannot be opened: {error}.") from error
        self.stderr.write(f"{count} secrets are sealed anew.")
