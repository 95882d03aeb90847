"""Wrong arguments at the doors behind `sparsify`: sets, steering, naming, explanations, files.

Each door is given everything that it might be given by mistake; what it cannot use it says.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections import defaultdict

import numpy as np
import pytest
import torch
from torch import nn

from qpopt_torch import (
    AdapterTraining,
    DenseTraining,
    DrawnBirds,
    FineTuning,
    PartialTraining,
    Preprocessing,
    SparseHead,
    Specification,
    build,
    collect,
    conformal,
    export_onnx,
    finer_maps,
    load_published,
    name_features,
    sparsify,
    steer,
)
from qpopt_torch.explain import (
    explain_class,
    explain_contrast,
    explain_decision,
    explain_feature,
    explain_neighbours,
    gather,
)
from qpopt_torch.report import write_report
from qpopt_torch.training.params import GroundingParams
from tests.qpopt_torch.attack import refused, survived
from tests.qpopt_torch.small import batches, cnn, sparse

DATA = batches()
X, Y = DATA[0]
MANY = batches(sizes=(60, 60))
FEW_BIRDS = {"n_species": 4, "n_per_species": 1, "size": 16, "pairs": 0.5}
QUICK = {"training": None, "progress": False}
THINGS = {
    "an-object": object(),
    "bytes": b"x",
    "a-mapping": {"a": 1},
    "huge": 10**400,
    "a-list": [1.5],
    "not-finite": float("nan"),
    "an-array": X[:, :1].long(),  # which takes many lines to print
    "numbers": X * torch.nan,
}
FLAGS = ("progress", "by_class", "dilate")
"""What is only asked whether it is true takes anything but an array."""


ANYTHING = ("Specification", "collect every")
"""What says of anything whether it can be used, or is not used without something else."""


def strided():
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        *(nn.Flatten(), nn.Linear(8, 4)),
    )


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """Every argument of every door by its name, with a call that gives it a value."""
    folder, made = tmp_path_factory.mktemp("doors"), sparse()
    predictor, evidence = (
        conformal(made, MANY, 0.3, progress=False),
        gather(made, DATA, progress=False),
    )
    weights = folder / "qpm_50_5_FinetunedModel.pth"
    torch.save(cnn().state_dict(), weights)
    found = {}

    def door(function, *names, **given):
        called = getattr(function, "__name__", type(function).__name__)
        for name in names or [
            name for name in inspect.signature(function).parameters if name not in FLAGS
        ]:
            found[f"{called} {name}"] = lambda value, name=name: function(**{**given, name: value})

    door(conformal, sparse=made, calibration_loader=MANY, progress=False)
    door(predictor.decide)
    door(predictor.evaluate, "loader", "similarity", loader=MANY, progress=False)
    door(made.calibrate_levels, "loader", progress=False)
    door(steer, "model", "loader", "include", "exclude", "n_select", "n_per_class", "prepare",
         "solve", "out", "val_loader", model=made, loader=DATA, **QUICK)  # fmt: skip
    door(export_onnx, "model", "x", model=made, path=folder / "model.onnx", x=X[:0])
    door(finer_maps, "model", "inputs", "stages", "head", model=strided(), inputs=X)
    door(name_features, "sparse", "source", sparse=sparse())
    found["a name"] = lambda value: name_features(sparse(), lambda d: value)
    told = {"attributes": np.eye(4), "attribute_names": "abcd", "loader": DATA, "progress": False}
    door(name_features, "attributes", "attribute_names", "loader", sparse=sparse(), **told)
    door(load_published, path=weights, model=cnn())
    door(build, "name", "n_classes", name="torchvision:resnet18", n_classes=4)
    found["Specification"] = lambda value: Specification("timm:x", value).is_harmless
    door(Preprocessing, size=8, mean=(0.5,), std=(0.5,), margin=1.1)
    door(Preprocessing(8), "image")
    door(collect, "like", "class_names", "received", "checkpoint", "every", "precision", "head",
         model=cnn(), loader=DATA, progress=False)  # fmt: skip
    door(DrawnBirds, *FEW_BIRDS, "split", "nuisance", "cache", **FEW_BIRDS)
    for kind in (FineTuning, PartialTraining, AdapterTraining, DenseTraining, GroundingParams):
        door(kind, *(field.name for field in dataclasses.fields(kind)))
    door(gather, "model", "loader", "class_names", "to_image", "params", "decisions", "features",
         model=made, loader=DATA, progress=False)  # fmt: skip
    door(explain_class, evidence=evidence, c=0)
    door(explain_contrast, evidence=evidence, first=0, second=1)
    door(explain_feature, evidence=evidence, d=0)
    door(explain_neighbours, model=made)
    door(explain_decision, model=made, x=X[0])
    door(write_report, "model", "path", "loader", "dense", "settings", "max_bytes", "params",
         "masks", model=made, loader=DATA, path=folder / "r.html", progress=False)  # fmt: skip
    door(SparseHead, "selection", "assignment", "mean", "std", selection=[0], assignment=[[1]],
         mean=[0.0], std=[1.0])  # fmt: skip
    for name in ("finer_maps", "relu"):
        given = {"n_select": 5, "n_per_class": 2, **QUICK}
        found[f"head {name}"] = lambda value, name=name, given=given: sparsify(
            strided(), DATA, head={name: value}, **given
        )
    return found


@pytest.mark.parametrize("thing", THINGS)
def test_nothing_goes_through_as_an_error_of_python(doors, thing):
    raw = defaultdict(list)
    for name, call in doors.items():
        try:
            survived(lambda call=call: call(THINGS[thing]))
        except (Exception, SystemExit) as error:
            raw[f"{type(error).__name__}: {error!s:.150}"].append(name)
    assert not raw


def test_an_object_of_no_use_is_refused_everywhere(doors):
    for name, call in doors.items():
        assert name in ANYTHING or refused(lambda call=call: call(object())), name
