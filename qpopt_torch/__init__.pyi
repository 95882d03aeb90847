from qpopt_torch import explain as explain
from qpopt_torch.data.birds.nuisance import Nuisance as Nuisance
from qpopt_torch.data.drawn_birds import DrawnBirds as DrawnBirds
from qpopt_torch.errors import LoaderError as LoaderError
from qpopt_torch.errors import ModelError as ModelError
from qpopt_torch.errors import TrainingError as TrainingError
from qpopt_torch.metrics.accuracy import accuracy as accuracy
from qpopt_torch.metrics.evaluate import evaluate as evaluate
from qpopt_torch.metrics.summary import Metrics as Metrics
from qpopt_torch.network.finer_maps import finer_maps as finer_maps
from qpopt_torch.network.head import Head as Head
from qpopt_torch.network.head_finder import find_head as find_head
from qpopt_torch.network.layout import Layout as Layout
from qpopt_torch.network.observation import Features as Features
from qpopt_torch.pipeline.sparsify import sparsify as sparsify
from qpopt_torch.pipeline.sweep import sweep as sweep
from qpopt_torch.pipeline.sweep_result import Sweep as Sweep
from qpopt_torch.sparse.adapter import Adapter as Adapter
from qpopt_torch.sparse.classifier import SparseClassifier as SparseClassifier
from qpopt_torch.sparse.classifier import load as load
from qpopt_torch.sparse.published import load_published as load_published
from qpopt_torch.sparse.sparse_head import SparseHead as SparseHead
from qpopt_torch.statistics.collect import collect as collect
from qpopt_torch.statistics.statistics import Statistics as Statistics
from qpopt_torch.training.adapter_training import train_adapter as train_adapter
from qpopt_torch.training.dense import train_dense as train_dense
from qpopt_torch.training.features import extract as extract
from qpopt_torch.training.fine_tuning import fine_tune as fine_tune
from qpopt_torch.training.loop import History as History
from qpopt_torch.training.losses.diversity import feature_diversity_loss as feature_diversity_loss
from qpopt_torch.training.losses.grounding import (
    feature_grounding_loss as feature_grounding_loss,
)
from qpopt_torch.training.params import GroundingParams as GroundingParams
from qpopt_torch.training.settings import AdapterTraining as AdapterTraining
from qpopt_torch.training.settings import DenseTraining as DenseTraining
from qpopt_torch.training.settings import FineTuning as FineTuning
from qpopt_torch.training.settings import PartialTraining as PartialTraining
