"""Calibrated: what a model learns of itself from samples that took no part in its training."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from qpopt_torch.errors import ModelError
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.sparse.sets.answers import answers_of
from qpopt_torch.sparse.sets.calibration import Calibration
from qpopt_torch.sparse.sets.level_shares import LevelShares
from qpopt_torch.sparse.sets.predictor import Predictor

if TYPE_CHECKING:
    from qpopt_torch.sparse.classifier import SparseClassifier

LEVELS, SETS = "levels", "sets"

logger = logging.getLogger("qpopt")


class Calibrated:
    """A model that keeps how often its levels hold the true class, and its predictor of sets.

    Attributes
    ----------
    level_shares
        How often each level of an explanation holds the true class; None before
        `calibrate_levels`.
    predictor
        What answers with sets of classes; None before `qpopt_torch.conformal`.
    """

    level_shares: LevelShares | None = None
    predictor: Predictor | None = None
    calibrated_weights: str = ""

    def calibrate_levels(self, loader: Iterable[Any], *, progress: bool = True) -> LevelShares:
        """Measure how often each level of an explanation holds the true class, and keep it.

        Parameters
        ----------
        loader
            Batches of inputs and labels that took no part in training.
        progress
            Whether to show a progress bar on a terminal.
        """
        model = cast("SparseClassifier", self)
        answers, labels = answers_of(model, loader, title="levels", progress=progress)
        shares = LevelShares.of(*answers.deepest(labels))
        self.keep_calibration(levels=shares)
        return shares

    def keep_calibration(
        self, *, levels: LevelShares | None = None, predictor: Predictor | None = None
    ) -> None:
        """Keep what was measured, and forget what was measured with other weights."""
        now = fingerprint(cast("SparseClassifier", self))
        if now != self.calibrated_weights:
            self.level_shares = self.predictor = None
        self.calibrated_weights = now
        self.level_shares = levels or self.level_shares
        self.predictor = predictor or self.predictor

    def calibration(self) -> dict[str, Any]:
        """Return what was measured as values that JSON can hold, under `levels` and `sets`.

        What was measured with other weights is left out with a warning.
        """
        known: dict[str, Any] = {}
        if self.level_shares is None and self.predictor is None:
            return known
        if fingerprint(cast("SparseClassifier", self)) != self.calibrated_weights:
            logger.warning(
                "The weights have changed since levels and sets were calibrated, so these are not "
                "saved; calibrate again."
            )
            return known
        if self.level_shares is not None:
            known[LEVELS] = self.level_shares.to_dict()
        if self.predictor is not None:
            known[SETS] = self.predictor.calibration.to_dict()
        return known

    def restore_calibration(self, known: Mapping[str, Any]) -> None:
        """Take what another of the same weights has measured.

        Raises
        ------
        ModelError
            If it cannot be that of this model.
        """
        model = cast("SparseClassifier", self)
        if LEVELS in known:
            shares = LevelShares.from_dict(known[LEVELS])
            if len(shares.hits) != int((model.assignment != 0).sum(axis=1).max()) + 1:
                raise ModelError("what is kept of its levels is of another number of levels.")
            self.keep_calibration(levels=shares)
        if SETS in known:
            calibration = Calibration.from_dict(known[SETS], model.head.n_classes)
            self.keep_calibration(predictor=Predictor(model, calibration))
