"""Mail by SMTP, when whoever runs the hub has said where. One message to one person, plain text."""

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

SMTP_SECONDS_MAX = 10


class MailFailed(Exception):
    """The message was not taken, or nobody knows; the reason names no password."""


def is_configured() -> bool:
    return bool(settings.MAIL_HOST)


def send_mail(address: str, *, subject: str, text: str, message_id: str) -> None:
    """Returns when the server has taken the message. Raises: MailFailed."""
    backend = EmailBackend(
        alias="hub",
        host=settings.MAIL_HOST,
        port=settings.MAIL_PORT,
        username=settings.MAIL_USER or "",
        password=settings.MAIL_PASSWORD or "",
        use_tls=settings.MAIL_SECURITY == "starttls",
        use_ssl=settings.MAIL_SECURITY == "tls",
        timeout=SMTP_SECONDS_MAX,
    )
    headers = {"Message-ID": f"<{message_id}>", "Auto-Submitted": "auto-generated"}
    message = EmailMessage(subject, text, settings.MAIL_FROM, [address], headers=headers)
    try:
        backend.send_messages([message])
    except (
        OSError,
        ValueError,
    ) as error:  # smtplib's errors are OSErrors; an address may not fit into a header
        raise MailFailed(type(error).__name__) from error
