"""How a test comes in without the sign-in page: with the cookie of a session that was made for it."""

from django.conf import settings
from django.test import Client
from playwright.sync_api import Page

from memoryhub.models import User


def new_session(user: User) -> str:
    """Made before the browser opens: inside, nothing may ask the database."""
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def enter(page: Page, url: str, session: str) -> None:
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": url}])
