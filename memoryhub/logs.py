"""Structured logs: JSON lines (or a readable form) on standard error, with the request id and without content."""

import logging.config
import traceback
from collections.abc import Iterator
from typing import Any

import psycopg
import structlog

from memoryhub.request_context import current_request_id


def configure(options: dict[str, Any]) -> None:
    """Django's LOGGING_CONFIG. `options`: {"level": name, "json": bool}."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _add_request_id,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(format_exception),
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if options["json"]
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "line": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": options["level"]},
            "loggers": {
                "django.request": {"level": "CRITICAL"},  # the hub logs each request itself, once
                "django.security": {"level": "ERROR"},
                "celery": {"level": "WARNING"},
                "psycopg.pool": {"level": "ERROR"},
                "httpcore2": {"level": "WARNING"},  # it tells the headers of answers
                "mcp": {"level": "ERROR"},  # it tells what a client sent
                "uvicorn": {"level": "WARNING"},
            },
        }
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def format_exception(exc_info: structlog.typing.ExcInfo) -> str:
    """The traceback without what PostgreSQL tells of a row: its detail of a refused row quotes the row."""
    text = "".join(traceback.format_exception(*exc_info)).rstrip()
    for error in _causes(exc_info[1]):
        if isinstance(error, psycopg.Error):
            for quoting in filter(None, (error.diag.message_detail, error.diag.context)):
                text = text.replace(quoting, "(left out)")
    return text


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those it was raised from or during."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _add_request_id(
    logger: Any, method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    request_id = current_request_id()
    if request_id is not None:
        event["request_id"] = request_id
    return event
