"""A self-contained page to review the suspects of an audit, the corrections that it exports, and displays.

A report is a plain dictionary first, and then a page::

    report = label_report(audit, X=frame, ids=frame.index)
    write_report(report, "review.html")
"""

from ..first_use import loaders

__getattr__, __dir__, __all__ = loaders(__name__, __file__)
