"""`./hub sign_in_link [EMAIL]`: prints a link that signs a person in once."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryhub import accounts
from memoryhub.models import User


class Command(BaseCommand):
    help = "Print a link that signs a person in once, within an hour."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", nargs="?", help="left out: the hub's first operator")

    def handle(self, *args: Any, **options: Any) -> None:
        people = User.objects.filter(is_active=True)
        wanted = options["email"]
        people = people.filter(email=wanted.lower()) if wanted else people.filter(is_operator=True)
        user = people.order_by("id").first()
        if user is None:
            raise CommandError(
                f"Nobody has the address {wanted}." if wanted else "The hub has no operator: run ./hub up."
            )
        self.stdout.write(f"{settings.BASE_URL}/sign-in/{accounts.create_sign_in_link(user.id)}")
