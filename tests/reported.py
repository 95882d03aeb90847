"""Examples run as a user runs them; what they hand to a report is kept, and its claims checked."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import qpopt_torch
from qpopt_torch import SparseClassifier, evaluate
from qpopt_torch.metrics.alignment import birds_of
from tests.qpopt_torch.report.claims.every_page import every_claim
from tests.qpopt_torch.report.claims.truth import Truth

EXAMPLES = Path(__file__).parents[1] / "examples"
MOST = 8
"""Contrasts, and right and wrong decisions, that are looked at in the report of an example."""


class Recorded:
    """The batches of a loader as they once came, so that a sample can be looked at again."""

    def __init__(self, loader):
        self.dataset, self.batches = loader.dataset, list(loader)

    def __iter__(self):
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)


class Reported:
    """Runs examples, and keeps what they make a report of: network, model and batches."""

    def __init__(self, request, monkeypatch, capsys):
        self.request, self.monkeypatch, self.capsys = request, monkeypatch, capsys
        self.sparse = self.loaders = self.network = self.asked = None
        self.attribute_names = []
        write, name = SparseClassifier.report, qpopt_torch.name_features

        def report(sparse, path, loader, train_loader=None, **options):
            shown = None if train_loader is None else Recorded(train_loader)
            self.sparse, self.loaders = sparse, (Recorded(loader), shown)
            known = options.get("attributes")
            named = {"attributes": known, "attribute_names": self.attribute_names}
            self.asked = {} if known is None else named
            if "dense" not in options:
                self.network = None
            return write(sparse, path, self.loaders[0], train_loader=shown, **options)

        def evaluated(model, *loaders, **options):
            if not isinstance(model, SparseClassifier):
                self.network = model
            return evaluate(model, *loaders, **options)

        def name_features(sparse, **options):
            said = options["attribute_names"]
            self.attribute_names = [one.replace("::", ": ").replace("_", " ") for one in said]
            return name(sparse, **options)

        monkeypatch.setattr(SparseClassifier, "report", report)
        monkeypatch.setattr(qpopt_torch, "name_features", name_features)
        monkeypatch.setattr(qpopt_torch, "evaluate", evaluated)

    def run(self, name, *arguments):
        """Run an example here, and return what it printed."""
        self.monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return self.capsys.readouterr().out

    def hold(self, path, most=MOST):
        """Check the claims of a report, where there is a browser."""
        birds = birds_of(self.loaders[0])
        truth = Truth(self.sparse, *self.loaders, self.network, birds, **self.asked)
        open_page = self.request.getfixturevalue("open_page")  # skips without a browser
        claims = every_claim(open_page(path), truth, most)
        assert not claims.false, "\n".join(claims.false[:40])
        assert claims.n_checked > 300
        return claims
