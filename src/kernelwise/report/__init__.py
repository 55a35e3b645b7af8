"""A self-contained page to review the suspects of an audit, the corrections that it exports, and displays.

A report is a plain dictionary first, and then a page::

    report = label_report(audit, X=frame, ids=frame.index)
    write_report(report, "review.html")
"""

from .corrections import (
    Correction,
    CorrectionsError,
    apply_corrections,
    read_corrections,
    verdicts_of,
    write_corrections,
)
from .displays import (
    ConvergenceDisplay,
    EmbeddingDisplay,
    KernelWeightsDisplay,
    LabelMatrixDisplay,
    NoiseCurveDisplay,
    ScoreDistributionDisplay,
    named_kernel_weights,
)
from .evidence import trusted_neighbours
from .labels import label_report
from .merging import Agreement, MergedCorrections, merge_corrections
from .page import image_links, render, write_report
from .page_data import PageSettings
from .pairs import pair_report, record_report

__all__ = [
    "Agreement",
    "ConvergenceDisplay",
    "Correction",
    "CorrectionsError",
    "EmbeddingDisplay",
    "KernelWeightsDisplay",
    "LabelMatrixDisplay",
    "MergedCorrections",
    "NoiseCurveDisplay",
    "PageSettings",
    "ScoreDistributionDisplay",
    "apply_corrections",
    "image_links",
    "label_report",
    "merge_corrections",
    "named_kernel_weights",
    "pair_report",
    "read_corrections",
    "record_report",
    "render",
    "trusted_neighbours",
    "verdicts_of",
    "write_corrections",
    "write_report",
]
