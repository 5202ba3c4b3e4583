"""The rules of a password, and how often one may be tried."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from memoryhub.errors import InvalidRequest
from memoryhub.models import User
from memoryhub.throttles import count_request

PASSWORD_TRIES_PER_MINUTE_MAX = 10


def count_password_try(email: str) -> None:
    """Wherever a password is asked for, the tries for one address count together. Raises: RateLimited."""
    count_request(f"password:{email.lower()}", requests_max=PASSWORD_TRIES_PER_MINUTE_MAX)


def check_password_strength(password: str, user: User) -> None:
    """Raises: InvalidRequest."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidRequest("password: " + " ".join(error.messages)) from error
