"""What a person gives the page, without a server."""

from functools import partial

import pytest
import torch
from torch.utils.data import DataLoader

from qpopt_torch import Texts, sparsify
from qpopt_torch.errors import ModelError
from qpopt_torch.evidence.gather import gather
from qpopt_torch.evidence.showing import show_of
from qpopt_torch.studio.launch import as_batch
from qpopt_torch.studio.own_samples import MOST_LETTERS, OwnSamples
from tests.qpopt_torch.texts import Text


@pytest.fixture(scope="module")
def own():
    said = ["a bird sings", "two birds sing", "fish swim fast", "the fish swims", "a dog barks"]
    texts = Texts(said, [0, 0, 1, 1, 2], length=6, class_names=["bird", "fish", "dog"])
    loader = DataLoader(texts, 5)
    model = sparsify(Text(), loader, n_select=5, n_per_class=2, training=None, progress=False)
    gallery = gather(model, loader, progress=False)
    tokenize = partial(as_batch, texts)
    return OwnSamples(model, gallery, None, tokenize=tokenize, show=show_of(texts))


def test_a_text_is_decided_as_the_model_decides(own):
    told = own.decide_text("A bird barks at Jupiter")
    # "bird" and "barks" are known by their numbers, "at" and "Jupiter" are not.
    assert told["samples"][0]["words"] == ["a", "bird", "barks", "?", "?"]
    batch = own.tokenize("a bird barks at jupiter")
    with torch.no_grad():
        logits = own.model(batch["input_ids"], batch["attention_mask"])[0]
    assert told["samples"][0]["pred"] == int(logits.argmax())
    best, total = told["entry"]["sums"][0][:2]
    assert best == int(logits.argmax())
    assert total == pytest.approx(float(logits.max()), abs=0.01)


@pytest.mark.parametrize("text", ["", "  ", 7, None, ["a"], "a " * MOST_LETTERS])
def test_what_is_no_text_is_refused(own, text):
    with pytest.raises(ModelError, match="A text has words"):
        own.decide_text(text)


def test_what_the_model_does_not_take_is_said(own):
    with pytest.raises(ModelError, match="pass preprocess="):
        own.decide(b"a picture")
    blind = OwnSamples(own.model, own.gallery, None)
    with pytest.raises(ModelError, match="pass tokenize="):
        blind.decide_text("a bird sings")
