"""Optimal sparse classifiers from trained PyTorch networks, on top of qpopt.

`sparsify` does everything in one call. Its steps are public too: `collect` gives `Statistics`,
these an instance for `qpopt.solve`, `SparseClassifier.from_solution` the model, and `fine_tune` or
`train_adapter` trains it. `evaluate` measures a model, `explain` makes it readable, and
`SparseClassifier.report` writes all of that into one HTML file. `sweep` draws accuracy over
compactness.
"""

from qpopt_torch import explain
from qpopt_torch.adapter import Adapter
from qpopt_torch.collect import collect
from qpopt_torch.curve import Sweep
from qpopt_torch.errors import LoaderError, ModelError, TrainingError
from qpopt_torch.evaluate import accuracy
from qpopt_torch.finetune import fine_tune, train_dense
from qpopt_torch.frozen import extract, train_adapter
from qpopt_torch.head import Head, find_head
from qpopt_torch.losses import feature_diversity_loss
from qpopt_torch.maps import Layout
from qpopt_torch.metrics.evaluate import evaluate
from qpopt_torch.metrics.summary import Metrics
from qpopt_torch.settings import AdapterTraining, DenseTraining, FineTuning
from qpopt_torch.sparse import Features, SparseClassifier, SparseHead
from qpopt_torch.sparsify import sparsify
from qpopt_torch.statistics import Statistics
from qpopt_torch.storage import load
from qpopt_torch.sweep import sweep
from qpopt_torch.training import History

__all__ = [
    "Adapter",
    "AdapterTraining",
    "DenseTraining",
    "Features",
    "FineTuning",
    "Head",
    "History",
    "Layout",
    "LoaderError",
    "Metrics",
    "ModelError",
    "SparseClassifier",
    "SparseHead",
    "Statistics",
    "Sweep",
    "TrainingError",
    "accuracy",
    "collect",
    "evaluate",
    "explain",
    "extract",
    "feature_diversity_loss",
    "find_head",
    "fine_tune",
    "load",
    "sparsify",
    "sweep",
    "train_adapter",
    "train_dense",
]
