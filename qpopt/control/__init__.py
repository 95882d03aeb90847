"""What steers a solve: limits, and events that tell of it."""

from qpopt.control.events import Event, OnEvent, Phase
from qpopt.control.limits import Clock, Limits

__all__ = ["Clock", "Event", "Limits", "OnEvent", "Phase"]
