"""Texts: tokens that are there, and layers between the pooling and the head."""

import pytest
import torch

from qpopt_torch import FineTuning, SparseClassifier, collect, evaluate, find_head, sparsify
from qpopt_torch.data.inputs import Inputs
from qpopt_torch.metrics.diversity import Diversity
from qpopt_torch.network.observation import observe
from qpopt_torch.network.reading.tokens import Mask, with_padding
from tests.qpopt_torch.texts import Text, texts


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("named", [True, False])
def test_pooling_over_the_tokens_that_are_there(pooling, named):
    model = Text(pooling)
    ids, mask, _ = texts()
    x = {"input_ids": ids, "attention_mask": mask} if named else ids
    head = find_head(model, x)
    assert (head.layer, head.layout.pooling, head.layout.masked) == ("body", pooling, True)
    assert head.mask == Mask("attention_mask" if named else "input_ids", 0)
    with observe(model, head) as seen:
        model(**x) if named else model(x)
    there = mask.bool()[:, None].expand_as(seen.maps)
    assert torch.isinf(seen.maps[~there]).all()
    pooled = seen.maps.amax(2)
    if pooling == "mean":
        pooled = seen.maps.masked_fill(~there, 0).sum(2) / mask.sum(1, keepdim=True)
    torch.testing.assert_close(pooled, seen.features)


def test_a_full_mask_is_told_from_none():
    ids, mask, _ = texts(full=True)
    x = {"input_ids": ids, "attention_mask": mask}
    assert find_head(Text(), x).layout.masked
    assert torch.equal(mask, torch.ones_like(mask))  # the batch stays as it was
    changed = with_padding(Inputs.of(x))
    assert int(changed.named("attention_mask").sum()) == mask.numel() - 1


def test_padding_changes_nothing():
    """Statistics, diversity and locality are those of the texts without what fills them up."""
    model = Text()
    ids, mask, y = texts()
    filled = [{"input_ids": ids, "attention_mask": mask, "labels": y}]
    alone = [
        {"input_ids": row[None, :n], "attention_mask": m[None, :n], "labels": label[None]}
        for row, m, label in zip(ids, mask, y, strict=True)
        if (n := int(m.sum()))
    ]
    a, b = (
        collect(model, loader, head=find_head(model, filled[0]), progress=False)
        for loader in (filled, alone)
    )
    torch.testing.assert_close(torch.tensor(a.mean), torch.tensor(b.mean))
    torch.testing.assert_close(torch.tensor(a.bias("locality")), torch.tensor(b.bias("locality")))
    assert a.center is None
    one, other = (
        evaluate(model, loader, head=find_head(model, filled[0]), progress=False)
        for loader in (filled, alone)
    )
    assert one.sid5 == pytest.approx(other.sid5)
    assert one.diversity5 == pytest.approx(other.diversity5)


def test_diversity_by_hand():
    """Two features on two of three positions, the third not there."""
    off = -torch.inf
    maps = torch.tensor([[[30.0, 0.0, off], [0.0, 30.0, off]]])
    metric = Diversity(torch.tensor([[1.0, 1.0]]), 2)
    metric.update(maps, torch.tensor([[1.0]]))
    share = 1 / (1 + 2.718281828459045**-2)  # 30 divided by the mean 15 of those that are there
    assert metric.compute() == pytest.approx(100 * share)


@pytest.mark.parametrize("pooling", ["mean", "pooler"])
def test_training_a_text_classifier(pooling):
    ids, mask, y = texts()
    loader = [{"input_ids": ids, "attention_mask": mask, "labels": y}]
    training = {"training": "frozen"}
    if pooling == "pooler":
        training = {"training": FineTuning(epochs=2, lr=1e-3)}
    sparse = sparsify(
        Text(pooling),
        loader,
        n_select=5,
        n_per_class=2,
        val_loader=loader,
        progress=False,
        **training,
    )
    assert isinstance(sparse, SparseClassifier)
    torch.testing.assert_close(sparse(ids, mask), sparse(input_ids=ids, attention_mask=mask))
    seen = sparse.features(ids, attention_mask=mask)
    assert seen.maps.shape[:2] == (12, 5)
    assert all(torch.isfinite(p).all() for p in sparse.parameters())
    assert 0 < sparse.metrics["sparse"].sid5 <= 100
