"""Light or dark: the system's choice, or the person's own, which a cookie keeps so that the first paint is right."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

THEMES = ("system", "light", "dark")
THEME_COOKIE = "memoryhub_theme"
KEPT_SECONDS = 365 * 86_400


def chosen_theme(request: HttpRequest) -> str:
    kept = request.COOKIES.get(THEME_COOKIE)
    return kept if kept in THEMES else "system"


def keep_theme(response: HttpResponse, theme: str) -> None:
    """What is not a theme is kept as the system's."""
    if theme not in THEMES or theme == "system":
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
        return
    response.set_cookie(
        THEME_COOKIE,
        theme,
        max_age=KEPT_SECONDS,
        secure=settings.BEHIND_TLS,
        httponly=True,
        samesite="Lax",
    )
