"""Whether this process has been asked to end: who waits for long looks here. Imports nothing of Django."""

import threading

ending = threading.Event()
