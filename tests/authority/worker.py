"""A worker of one authority, as a process: `python -m tests.authority.worker AUTHORITY_ID [POINT] [kill | stop]`.

It drains once; at the named point of a call it kills or stops itself.
"""

import os
import signal
import sys
from uuid import UUID


def main() -> None:
    import django

    django.setup()
    from authority import host_runs

    authority_id, point, how = [*sys.argv[1:], "", ""][:3]
    signals = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}

    def reach(reached: str) -> None:
        if reached == point:
            print(f"reached {point}", flush=True)
            os.kill(os.getpid(), signals[how])

    host_runs.reach = reach
    print(f"done {host_runs.drain(UUID(authority_id))}", flush=True)


if __name__ == "__main__":
    main()
