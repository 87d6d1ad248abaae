"""Measurements: operations, what truncation does to a model, papers' tables beside ours."""

from .operations import bench
from .truncation import Analysis, analyze_truncation

__all__ = ["Analysis", "analyze_truncation", "bench"]
