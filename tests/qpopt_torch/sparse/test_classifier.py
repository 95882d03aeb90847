import copy
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from qpopt import Solution
from qpopt_torch import (
    Adapter,
    ModelError,
    SparseClassifier,
    SparseHead,
    Statistics,
    collect,
    find_head,
    load,
)
from tests.qpopt_torch.small import any_solution, batches, cnn, mlp, series, sparse

DATA = batches()
X = DATA[0][0]


def test_logits_are_the_sum_of_normalised_features():
    model = cnn().eval()
    made = sparse(model)
    with torch.no_grad():
        features = torch.cat([model[:5](x) for x, _ in DATA]).double().numpy()
        logits = torch.cat([made(x) for x, _ in DATA])
    z = (features - features.mean(0)) / features.std(0)
    for c in range(4):
        expected = z[:, list(made.class_features(c))].sum(1)
        np.testing.assert_allclose(logits[:, c], expected, atol=1e-4)


def test_features_and_maps():
    model = cnn().eval()
    made = sparse(model)
    seen = made.features(X)
    assert torch.equal(seen.logits, made(X))
    assert seen.maps.shape == (len(X), 5, 7, 7)
    torch.testing.assert_close(seen.maps, model[:3](X)[:, made.selection])
    torch.testing.assert_close(seen.maps.mean((2, 3)), seen.features)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in made.modules())


def test_models_without_maps_and_time_series():
    made = sparse(mlp(), batches((5,), 3), 4, 2)
    assert made.features(torch.randn(2, 5)).maps is None
    made = sparse(series(), batches((2, 12), 3), 4, 2)
    assert made.features(torch.randn(2, 2, 12)).maps.shape == (2, 4, 10)


def test_the_given_model_is_untouched_and_the_old_head_gone():
    model = cnn().eval()
    before = model(X)
    made = sparse(model)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.zero_()
    assert torch.equal(model(X), before)
    assert isinstance(model[6], nn.Linear)
    assert not any(isinstance(module, nn.Linear) for module in made.modules())


def test_only_one_dropout_is_left():
    dropouts = [m for m in sparse().modules() if isinstance(m, nn.Dropout)]
    assert [m.p for m in dropouts] == [0.1]


def test_selection_assignment_and_classes():
    made = sparse()
    assert made.selection.tolist() == [0, 1, 2, 3, 4]
    assert made.assignment.sum(1).tolist() == [2] * 4
    assert made.class_features(0) == (0, 1)
    made.class_names = ("a", "b", "c", "d")
    assert made.class_features("b") == (0, 2)
    for wrong in (4, -1, "e"):
        with pytest.raises(ModelError, match="There is no class"):
            made.class_features(wrong)


def test_a_convolution_as_head():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.fc = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 4, 1)

        def forward(self, x):
            return self.fc(self.body(x).mean((2, 3), keepdim=True)).flatten(1)

    made = sparse(Model(), n_select=4)
    seen = made.features(X)
    assert made(X).shape == (len(X), 4)
    torch.testing.assert_close(seen.maps.mean((2, 3)), seen.features)


def test_an_activation_that_serves_many_layers():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 5, 3), nn.Conv2d(5, 6, 3)
            self.act, self.fc = nn.ReLU6(), nn.Linear(6, 4)

        def forward(self, x):
            return self.fc(self.act(self.b(self.act(self.a(x)))).mean((2, 3)))

    model = Model()
    statistics = collect(model, DATA, progress=False)
    assert statistics.n_positions == 25
    seen = sparse(model).features(X)
    torch.testing.assert_close(seen.maps.mean((2, 3)), seen.features)


def test_state_dict_deepcopy_and_pickle():
    made = sparse()
    expected = made(X)
    other = sparse(cnn(seed=7))
    assert not torch.equal(other(X), expected)
    other.load_state_dict(made.state_dict())
    assert torch.equal(other(X), expected)
    assert torch.equal(copy.deepcopy(made)(X), expected)
    again = pickle.loads(pickle.dumps(made))
    assert torch.equal(again(X), expected)
    assert again.solution.selection.tolist() == made.selection.tolist()


def test_to_another_precision():
    made = sparse()
    torch.testing.assert_close(copy.deepcopy(made).double()(X.double()).float(), made(X))
    half = copy.deepcopy(made).to(torch.bfloat16)
    assert half(X.bfloat16()).dtype == torch.bfloat16
    assert half.sparse_head.selection.dtype == torch.int64


def test_a_network_in_half_precision():
    made = sparse(cnn().to(torch.bfloat16))
    torch.testing.assert_close(made(X.bfloat16()).float(), sparse()(X), atol=0.3, rtol=0.3)


def test_export():
    made = sparse()
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(made, (X,), dynamic_shapes=({0: batch},))
    torch.testing.assert_close(program.module()(X[:3]), made(X[:3]))


def test_compile_without_graph_breaks():
    made = sparse()
    torch.testing.assert_close(torch.compile(made, fullgraph=True, backend="aot_eager")(X), made(X))


@pytest.mark.slow
def test_compile_with_the_default_backend():
    made = sparse()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler's own, about itself
        logits = torch.compile(made, fullgraph=True)(X)
    torch.testing.assert_close(logits, made(X))


def test_onnx(tmp_path):
    pytest.importorskip("onnxscript")
    from onnx.reference import ReferenceEvaluator

    made = sparse()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about itself
        torch.onnx.export(made, (X,), tmp_path / "m.onnx", dynamo=True, verbose=False)
        session = ReferenceEvaluator(str(tmp_path / "m.onnx"))
    (logits,) = session.run(None, {session.input_names[0]: X.numpy()})
    np.testing.assert_allclose(logits, made(X).detach().numpy(), atol=1e-4)


def test_gradients_reach_the_network_but_not_the_assignment():
    made = sparse().train()
    made(X).logsumexp(1).sum().backward()
    assert all(parameter.grad is not None for parameter in made.parameters())
    assert not any("sparse_head" in name for name, _ in made.named_parameters())
    assert {"selection", "assignment", "mean", "std"} <= {
        name.rsplit(".", 1)[-1] for name, _ in made.named_buffers()
    }


def test_an_adapter_starts_as_the_selection():
    made = sparse()
    before, features = made(X), made.features(X)
    statistics = collect(cnn(), DATA, progress=False)
    for hidden in (0, 3):
        made.sparse_head.adapter = Adapter(
            statistics.mean, statistics.std, made.selection, hidden=hidden
        )
        torch.testing.assert_close(made(X), before, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(made.features(X).maps, features.maps, atol=1e-5, rtol=1e-5)


def test_a_dead_feature_gives_no_nan():
    head = SparseHead([0, 1], np.eye(2), [0.0, 0.0], [0.0, 2.0])
    assert head.eval()(torch.tensor([[0.0, 4.0]])).tolist() == [[0.0, 2.0]]


def test_what_cannot_be_built():
    statistics = collect(cnn(), DATA, progress=False)
    nothing = Solution(None, None, None, status="no_solution")
    with pytest.raises(ModelError, match="ended no_solution"):
        SparseClassifier.from_solution(cnn(), nothing, statistics)
    features = np.random.default_rng(0).random((9, 5))
    loose = Statistics.from_features(features, np.arange(9) % 3)
    solution = any_solution(loose.instance(3, 2))
    with pytest.raises(ModelError, match="name no head"):
        SparseClassifier.from_solution(cnn(), solution, loose)


def test_outputs_with_logits_and_a_shared_head():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(5, 3)
            self.alias = self.fc

        def forward(self, x):
            return {"logits": self.alias(x)}

    model = Model()
    x = torch.randn(6, 5)
    head = find_head(model, x)
    made = SparseClassifier(
        model, head, SparseHead([1, 3], [[1, 0], [0, 1], [1, 1]], np.zeros(5)[:2], np.ones(2))
    ).eval()
    expected = torch.stack([x[:, 1], x[:, 3], x[:, 1] + x[:, 3]], 1)
    torch.testing.assert_close(made(x), expected)


def test_a_rectified_head_by_hand(tmp_path):
    """Normalised features below 0 count as 0, in logits, metrics and after a reload."""
    head = SparseHead([0, 2], [[1, 0], [0, 1], [1, 1]], [1.0, 2.0], [2.0, 0.5], relu=True)
    received = torch.tensor([[3.0, 9.0, 1.0], [0.0, 9.0, 3.0]])
    # (3 − 1) / 2 = 1 and (1 − 2) / 0.5 < 0; (0 − 1) / 2 < 0 and (3 − 2) / 0.5 = 2.
    with torch.no_grad():
        assert head.eval()(received).tolist() == [[1, 0, 1], [0, 2, 2]]
    model, data = cnn(), batches()
    statistics = collect(model, data, progress=False)
    solution = any_solution(statistics.instance(5, 2, bias="none"))
    sparse = SparseClassifier.from_solution(model, solution, statistics, relu=True).eval()
    sparse.save(tmp_path)
    again = load(tmp_path, cnn())
    x = data[0][0]
    seen = sparse.features(x)
    z = ((seen.features - sparse.sparse_head.mean) / sparse.sparse_head.std).relu()
    torch.testing.assert_close(again(x), z @ sparse.sparse_head.assignment.T)
