"""The ground floor as a Django app: it owns the tenancy tables."""

from django.apps import AppConfig


class MemoryHubConfig(AppConfig):
    name = "memoryhub"

    def ready(self) -> None:
        import memoryhub.celery  # makes it the current Celery application
        import memoryhub.checks  # noqa: F401 - registers the system checks
        from memoryhub import webhooks_console
        from memoryhub.erasure import register_texts
        from memoryhub.ground_subjects import GROUND_SUBJECTS
        from memoryhub.notice_types import GROUND_TYPES, register_notice_types
        from memoryhub.rooms import Room, register_needs, register_room
        from memoryhub.subjects import register_subjects
        from memoryhub.webhook_answers import erase_answers
        from memoryhub.work_console import read_needs

        for prefix, find in GROUND_SUBJECTS.items():
            register_subjects(prefix, find)
        register_notice_types(GROUND_TYPES)
        register_texts(erase_answers)
        register_room(Room("Settings", "project-settings", "projects.get", group="administration"))
        register_room(Room("Keys", "keys", "api_keys.list", group="administration"))
        register_room(Room("People", "people", "members.list", group="administration"))
        register_room(Room("Webhooks", "webhooks", "webhooks.list", group="administration"))
        register_room(Room("Audit", "audit", "audit_events.list", group="administration"))
        register_room(Room("Work", "jobs", "jobs.list", group="administration"))
        register_room(Room("Operations", "hub-status", "hub_status.get", group="administration"))
        register_needs("jobs.list", read_needs)
        register_needs("webhooks.list", webhooks_console.read_needs)
