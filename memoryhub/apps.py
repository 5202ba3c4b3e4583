"""The ground floor as a Django app: it owns the tenancy tables."""

from django.apps import AppConfig


class MemoryHubConfig(AppConfig):
    name = "memoryhub"

    def ready(self) -> None:
        import memoryhub.celery  # makes it the current Celery application
        import memoryhub.checks  # noqa: F401 - registers the system checks
        from memoryhub.ground_subjects import GROUND_SUBJECTS
        from memoryhub.rooms import Room, register_needs, register_room
        from memoryhub.subjects import register_subjects
        from memoryhub.work_console import read_needs

        for prefix, find in GROUND_SUBJECTS.items():
            register_subjects(prefix, find)
        register_room(Room("Settings", "project-settings", "projects.get", group="administration"))
        register_room(Room("Keys", "keys", "api_keys.list", group="administration"))
        register_room(Room("People", "people", "members.list", group="administration"))
        register_room(Room("Audit", "audit", "audit_events.list", group="administration"))
        register_room(Room("Work", "jobs", "jobs.list", group="administration"))
        register_room(Room("Operations", "hub-status", "hub_status.get", group="administration"))
        register_needs("jobs.list", read_needs)
