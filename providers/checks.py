"""System checks of this room: the configured memory providers and embedding backend can be made."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from providers.contract import ConfigError
from providers.embedding import find_backend
from providers.provider_choice import read_choice


def check_providers(app_configs: Any, **options: Any) -> list[CheckMessage]:
    try:
        read_choice(settings.MEMORY_PROVIDERS)
    except ConfigError as error:
        hint = "See the page of adapters in the documentation."
        return [Error(f"MEMORYHUB_MEMORY_PROVIDERS: {error}", hint=hint, id="memoryhub.E005")]
    return []


def check_embedding(app_configs: Any, **options: Any) -> list[CheckMessage]:
    try:
        find_backend()
    except ConfigError as error:
        hint = "See the page of embeddings in the documentation."
        return [Error(f"MEMORYHUB_EMBEDDING_BACKEND: {error}", hint=hint, id="memoryhub.E006")]
    return []
