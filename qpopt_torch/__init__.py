"""Optimal sparse classifiers from trained PyTorch networks, on top of qpopt.

`sparsify` does everything in one call. Its steps are public too: `collect` gives `Statistics`,
these an instance for `qpopt.solve`, `SparseClassifier.from_solution` the model, and `fine_tune` or
`train_adapter` trains it. `evaluate` measures a model, `explain` makes it readable, and
`SparseClassifier.report` writes all of that into one HTML file. `sweep` draws accuracy over
compactness.
"""

from qpopt_torch import explain
from qpopt_torch.data.birds.nuisance import Nuisance
from qpopt_torch.data.drawn_birds import DrawnBirds
from qpopt_torch.errors import LoaderError, ModelError, TrainingError
from qpopt_torch.metrics.accuracy import accuracy
from qpopt_torch.metrics.evaluate import evaluate
from qpopt_torch.metrics.summary import Metrics
from qpopt_torch.network.finer_maps import finer_maps
from qpopt_torch.network.head import Head
from qpopt_torch.network.head_finder import find_head
from qpopt_torch.network.layout import Layout
from qpopt_torch.network.observation import Features
from qpopt_torch.pipeline.sparsify import sparsify
from qpopt_torch.pipeline.sweep import sweep
from qpopt_torch.pipeline.sweep_result import Sweep
from qpopt_torch.sparse.adapter import Adapter
from qpopt_torch.sparse.classifier import SparseClassifier, load
from qpopt_torch.sparse.sparse_head import SparseHead
from qpopt_torch.statistics.collect import collect
from qpopt_torch.statistics.statistics import Statistics
from qpopt_torch.training.adapter_training import train_adapter
from qpopt_torch.training.dense import train_dense
from qpopt_torch.training.features import extract
from qpopt_torch.training.fine_tuning import fine_tune
from qpopt_torch.training.loop import History
from qpopt_torch.training.losses import feature_diversity_loss
from qpopt_torch.training.settings import (
    AdapterTraining,
    DenseTraining,
    FineTuning,
    PartialTraining,
)

__all__ = [
    "Adapter",
    "AdapterTraining",
    "DenseTraining",
    "DrawnBirds",
    "Features",
    "FineTuning",
    "Head",
    "History",
    "Layout",
    "LoaderError",
    "Metrics",
    "ModelError",
    "Nuisance",
    "PartialTraining",
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
    "finer_maps",
    "load",
    "sparsify",
    "sweep",
    "train_adapter",
    "train_dense",
]
