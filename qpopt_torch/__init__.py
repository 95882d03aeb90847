"""Optimal sparse classifiers from trained PyTorch networks, on top of qpopt.

`sparsify` does everything in one call. Its steps are public too: `collect` gives `Statistics`,
these an instance for `qpopt.solve`, `SparseClassifier.from_solution` the model, and `fine_tune` or
`train_adapter` trains it. `evaluate` measures a model, `explain` makes it readable, and
`SparseClassifier.report` writes all of that into one HTML file. `sweep` draws accuracy over
compactness.
"""

from importlib import import_module

# A name is loaded at its first use. Type checkers, who cannot follow that, read `__init__.pyi`.
_MODULES = {
    "Adapter": "sparse.adapter",
    "AdapterTraining": "training.settings",
    "Coverage": "sparse.sets.coverage",
    "DenseTraining": "training.settings",
    "DrawnBirds": "data.drawn_birds",
    "Features": "network.observation",
    "FineTuning": "training.settings",
    "GroundingParams": "training.params",
    "Head": "network.head",
    "History": "training.loop",
    "Layout": "network.layout",
    "LevelShares": "sparse.sets.level_shares",
    "LoaderError": "errors",
    "Metrics": "metrics.summary",
    "ModelError": "errors",
    "Nuisance": "data.birds.nuisance",
    "PartialTraining": "training.settings",
    "Predictor": "sparse.sets.predictor",
    "Preprocessing": "data.preprocessing",
    "SparseClassifier": "sparse.classifier",
    "SparseHead": "sparse.sparse_head",
    "Specification": "network.specification",
    "Statistics": "statistics.statistics",
    "Sweep": "pipeline.sweep_result",
    "Table": "data.own.table",
    "Texts": "data.own.text",
    "TrainingError": "errors",
    "accuracy": "metrics.accuracy",
    "build": "network.builders",
    "collect": "statistics.collect",
    "conformal": "sparse.sets.predictor",
    "evaluate": "metrics.evaluate",
    "exact_auroc": "statistics.ranking",
    "extract": "training.features",
    "feature_diversity_loss": "training.losses.diversity",
    "feature_grounding_loss": "training.losses.grounding",
    "find_head": "network.head_finder",
    "fine_tune": "training.fine_tuning",
    "finer_maps": "network.finer_maps",
    "load": "pipeline.loading",
    "load_published": "sparse.published",
    "name_features": "evidence.naming",
    "sparsify": "pipeline.sparsify",
    "steer": "pipeline.steering",
    "sweep": "pipeline.sweep",
    "export_onnx": "sparse.onnx",
    "to_image": "evidence.showing",
    "to_table": "evidence.showing",
    "to_text": "evidence.showing",
    "train_adapter": "training.adapter_training",
    "train_dense": "training.dense",
}
_ROOMS = ("data", "explain", "metrics")

__all__ = ["explain", *_MODULES]


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
