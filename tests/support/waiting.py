"""Waiting for a condition: what tests do in place of sleeping."""

import time


def wait_until(condition, what, limit, pause=0.01):
    """The first true value of condition(), which is asked again after each pause. Fails after `limit` seconds: generous
    ones, since they only end what has failed."""
    deadline = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit} s for {what}")
        time.sleep(pause)
