"""How far long work is: in per cent, with the time that is left."""

import sys
import time
from collections.abc import Callable

__all__ = ["News", "Progress", "Tell", "part", "silent", "teller"]

#: Takes the number of steps that are done, and the number of all steps.
Tell = Callable[[int, int], None]
#: What users give: a function of their own, True for lines on the standard error, or nothing.
Progress = Tell | bool | None

#: The first line appears after so many seconds, the next one after twice as many ...
NEWS_SECONDS = 10.0
#: ... until lines are so many seconds apart: longer silence looks like a hang.
LONGEST_SILENCE = 30.0
#: Shares of the work are told in so many steps.
FINE = 1000


class News:
    """Says on the standard error how much of some work is done, and how long the rest will take.

    The lines come after 10 seconds, after 20, after 40, and then every 30 seconds. So short work is silent.
    """

    def __init__(self, what: str):
        self.what, self.started, self.next = what, time.perf_counter(), NEWS_SECONDS

    def __call__(self, done: int, total: int) -> None:
        passed = time.perf_counter() - self.started
        if passed >= self.next and 0 < done < total:
            left = passed * (total - done) / done
            print(f"{self.what}: {done / total:.0%} done, about {left:.0f} s left", file=sys.stderr)
            self.next = passed + min(passed, LONGEST_SILENCE)


def silent(done: int, total: int) -> None:
    """Tell nobody."""


def teller(progress: Progress, what: str) -> Tell:
    """The function to call after every step, for the argument ``progress`` of some work."""
    if progress is None or progress is False:
        return silent
    if progress is True:
        return News(what)
    if not callable(progress):
        raise TypeError(f"progress must be True, False, None or a function of two numbers, got {progress!r}")
    return progress


def part(tell: Tell, start: float, stop: float) -> Tell:
    """What a part of the work calls, where the part lasts from one share of all work to another."""
    if tell is silent:
        return silent
    return lambda done, total: tell(round(FINE * (start + (stop - start) * min(done / total, 1.0))), FINE)
