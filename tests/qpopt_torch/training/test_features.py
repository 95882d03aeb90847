import pytest
import torch

from qpopt_torch import LoaderError, collect, extract
from tests.qpopt_torch.small import batches, cnn


def test_collect_gives_the_same_on_the_way():
    model, data = cnn().train(), batches()
    kept = []
    head = collect(model, data, received=kept, progress=False).head
    expected = extract(model, data, head, progress=False)
    for found, of in zip(map(torch.cat, zip(*kept, strict=True)), expected, strict=True):
        assert torch.equal(found, of)


def test_extract_gives_what_the_head_receives():
    model, data = cnn().train(), batches()
    head = collect(model, data, progress=False).head
    features, labels = extract(model, data, head, progress=False)
    assert all(module.training for module in model.modules())
    with torch.no_grad():
        expected = torch.cat([model.eval()[:5](x) for x, _ in data])
    torch.testing.assert_close(features, expected)
    assert torch.equal(labels, torch.cat([y for _, y in data]))
    with pytest.raises(LoaderError, match="empty"):
        extract(model, [], head, progress=False)
