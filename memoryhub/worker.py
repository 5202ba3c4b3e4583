"""The worker of a hub on one machine: it also rings for the jobs of CELERY_BEAT_SCHEDULE.

One process fewer than a `celery beat` beside it, which hubs of several machines need: there one rings for all.
"""

import os
import signal
from threading import Thread
from typing import Any

from celery import beat, bootsteps

from memoryhub.celery import app
from memoryhub.embedded import data_folder


class Clock(bootsteps.StartStopStep):
    """Rings in a thread of the worker. Should it fail, the worker ends and is started again with it."""

    requires = ("celery.worker.components:Pool",)

    is_ending = False

    def start(self, parent: Any) -> None:
        self.service = beat.Service(parent.app, schedule_filename=str(data_folder() / "run" / "beat"))
        self.thread = Thread(target=self._ring, name="clock", daemon=True)
        self.thread.start()

    def stop(self, parent: Any) -> None:
        self.is_ending = True
        self.service.stop(wait=True)

    def _ring(self) -> None:
        try:
            self.service.start()
        finally:
            if not self.is_ending:
                os.kill(os.getpid(), signal.SIGTERM)


app.steps["worker"].add(Clock)
