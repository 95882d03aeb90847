"""How models say how they are built, and what is not run because a file says so."""

import sys
from os import system  # noqa: F401  what a file must not reach through this module

import pytest
from torch import nn

from qpopt_torch import ModelError, Specification, build
from qpopt_torch.network.builders import rebuild
from qpopt_torch.network.specification import described, specification_of
from tests.qpopt_torch.small import cnn

HERE = "tests.qpopt_torch.network.test_specification"


def network(num_classes: int, width: int = 3) -> nn.Module:
    return cnn(n_features=width, n_classes=num_classes)


def test_a_function_with_arguments():
    model = build(f"{HERE}:network", 5, width=4)
    known = specification_of(model)
    assert known == Specification(f"{HERE}:network", {"width": 4})
    again = rebuild(known, 5)
    assert [p.shape for p in again.parameters()] == [p.shape for p in model.parameters()]


def test_a_class_of_yours():
    assert described(cnn()) == {"model": "a class of yours: Sequential", "arguments": {}}
    named = cnn()
    named.specification = f"{HERE}:network"
    assert described(named)["model"] == f"{HERE}:network"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("resnet18", {}), ("vit_tiny_patch16_224", {"img_size": [32, 32]}), ("resnet18", None)],
)
def test_timm_says_it_itself(timm, name, arguments):
    given = {"in_chans": 1} if arguments is None else arguments
    model = timm.create_model(name, num_classes=3, **given)
    known = specification_of(model)
    again = rebuild(known, 3)
    assert {k: v.shape for k, v in again.state_dict().items()} == {
        k: v.shape for k, v in model.state_dict().items()
    }


def test_transformers_says_it_itself(transformers):
    sizes = {"hidden_size": 12, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 20}
    config = transformers.BertConfig(**sizes, intermediate_size=8, num_labels=3)
    model = transformers.BertForSequenceClassification(config)
    known = specification_of(model)
    assert known.name == "transformers:BertForSequenceClassification"
    again = rebuild(known, 3)
    assert {k: v.shape for k, v in again.state_dict().items()} == {
        k: v.shape for k, v in model.state_dict().items()
    }
    with pytest.raises(ModelError, match="no model 'pipeline'"):
        rebuild(Specification("transformers:pipeline"), 3)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("os:system", {"command": 1}),
        ("subprocess:Popen", {}),
        ("torch.hub:load", {}),
        ("multiprocessing.util:spawnv_passfds", {}),
        (f"{HERE}:system", {}),  # of a package that hands it on
        (f"{HERE}:network", {"width": "3"}),
        (f"{HERE}:network", {"width": [["x"]]}),
    ],
)
def test_files_cannot_have_anything_run(name, arguments):
    with pytest.raises(ModelError, match="is not run because a file says so"):
        rebuild(Specification(name, arguments), 3)


def test_a_file_has_nothing_imported_from_the_current_folder(tmp_path, monkeypatch):
    """What a model came with may lie there; whoever names it means it."""
    (tmp_path / "came_along.py").write_text(
        "import os\nfrom torch import nn\nos.mkdir('imported')\n"
        "def make(): return nn.Linear(2, 3)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", ".")])
    with pytest.raises(ModelError, match="Cannot import came_along"):
        rebuild(Specification("came_along:make"), 3)
    assert not (tmp_path / "imported").exists()
    assert isinstance(build("came_along:make", 3), nn.Linear)
