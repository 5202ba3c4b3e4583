"""The ground floor as a Django app: it owns the tenancy tables."""

from django.apps import AppConfig


class MemoryHubConfig(AppConfig):
    name = "memoryhub"

    def ready(self) -> None:
        import memoryhub.celery  # noqa: F401 - makes it the current Celery application
