"""Model collections that the tests use, made importable beside the CPU build of torch."""

from __future__ import annotations

import warnings
from types import ModuleType

import pytest
import torch

_library = torch.library.Library("torchvision", "DEF")


def _import(name: str) -> ModuleType:
    """Import a collection; the warnings are its own, about what it uses itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


@pytest.fixture(scope="session")
def torchvision() -> ModuleType:
    """torchvision from the package index lacks its compiled operators here; models need none."""
    if not hasattr(torch.ops.torchvision, "nms"):
        _library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return _import("torchvision")


@pytest.fixture(scope="session")
def timm(torchvision: ModuleType) -> ModuleType:
    return _import("timm")


@pytest.fixture(scope="session")
def transformers(torchvision: ModuleType) -> ModuleType:
    return _import("transformers")
