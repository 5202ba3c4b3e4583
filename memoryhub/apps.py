"""The ground floor as a Django app: it owns the tenancy tables."""

from django.apps import AppConfig


class MemoryHubConfig(AppConfig):
    name = "memoryhub"

    def ready(self) -> None:
        import memoryhub.celery  # makes it the current Celery application
        import memoryhub.checks  # noqa: F401 - registers the system checks
