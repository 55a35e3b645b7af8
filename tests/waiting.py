"""How tests wait for other processes: for minutes, as a busy machine may need them, and never for a clock alone."""

import time

#: Seconds: enough for any busy machine; what takes longer hangs.
PATIENCE = 600.0


def wait_until(condition, *, process=None, seconds=PATIENCE):
    """Return when ``condition()`` is true; fail if it does not become so, or at once where ``process`` ends first."""
    end = time.monotonic() + seconds
    while not condition():
        ended = process is not None and process.poll() is not None
        assert not ended or condition(), f"the process ended with code {process.returncode} before this came true"
        assert time.monotonic() < end, f"still waiting after {seconds} s"
        time.sleep(0.05)
