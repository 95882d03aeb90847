"""Samples as words, as rows, as pictures."""

import base64

import numpy as np
import pytest
import torch
from torch import nn

import qpopt_torch
from qpopt_torch import LoaderError, Table, Texts, to_image, to_table, to_text
from qpopt_torch.data.inputs import Inputs
from qpopt_torch.evidence.showing import pictured
from qpopt_torch.evidence.words import word_maps
from qpopt_torch.explain import explain_class, explain_decision, explain_feature, gather
from tests.qpopt_torch.report.decoding import data_of
from tests.qpopt_torch.texts import Text

WORDS = ["", "?", *(f"word{i}" for i in range(2, 30))]


class Tokenizer:
    """What tokenizers of transformers are for this purpose."""

    pieces = ("[PAD]", "[CLS]", "[SEP]", "play", "##ing", "birds", "!")
    all_special_ids = (0, 1, 2)

    def convert_ids_to_tokens(self, number):
        return self.pieces[number]


def test_pieces_of_words_are_joined_and_special_ones_left_out():
    sample = {
        "input_ids": torch.tensor([1, 3, 4, 5, 6, 2, 0, 5]),
        "attention_mask": torch.tensor([1, 1, 1, 1, 1, 1, 0, 0]),
    }
    picture, places = to_text(Tokenizer())(sample)
    assert picture.kind == "text"
    assert picture.words == ("playing", "birds", "!")
    assert places == [[1, 2], [3], [4]]


def test_the_marks_of_other_tokenizers():
    for begin in ("Ġ", "▁"):
        tokens = ["", f"{begin}play", "ing", f"{begin}birds", "!", ""]
        picture, places = to_text(lambda x, tokens=tokens: tokens)(None)
        assert picture.words == ("playing", "birds!")
        assert places == [[1, 2], [3, 4]]
    picture, places = to_text(lambda x: "any text")(None)
    assert (picture.words, places) == (("any", "text"), [])


def test_the_strength_of_a_word_is_the_largest_of_its_tokens():
    maps = torch.tensor([[1.0, 5.0, 2.0, -torch.inf]])  # of tokens 1 to 4, after the first
    found = word_maps(maps, [[0], [1, 2], [3]], n_tokens=5)
    np.testing.assert_array_equal(found, [[-np.inf, 5.0, 2.0]])
    assert word_maps(maps, [[0]], n_tokens=3) is None


def test_rows_are_shown_as_they_were():
    table = Table([[1.0, 10.0], [3.0, 30.0]], [0, 1], columns=["a", "b"], class_names=["x", "y"])
    picture, _ = to_table(table.columns, table.mean, table.std)(table[1][0])
    assert picture.row == (("a", "3"), ("b", "30"))
    again = Table([[2.0, 20.0]], [0], like=table)
    assert again[0][0].tolist() == [0.0, 0.0]
    assert (again.columns, again.class_names) == (("a", "b"), ("x", "y"))


def test_a_zero_is_shown_as_zero():
    values = torch.tensor([[0.0, 1.3], [0.3, 0.0], [0.1, 1e-4]])
    table = Table(values, [0, 1, 1], columns=["a", "b"])
    shows = to_table(table.columns, table.mean, table.std)
    shown = [tuple(value for _, value in shows(table[i][0])[0].row) for i in range(3)]
    assert shown == [("0", "1.3"), ("0.3", "0"), ("0.1", "0.0001")]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: to_text(7), "tokenizer, tokens by number, or a function"),
        (lambda: to_text(WORDS)(torch.zeros(3)), "numbers of tokens"),
        (lambda: to_text(lambda x: 7)(None), "returns a text or a list of tokens"),
        (lambda: to_table("a"), "columns must be a list of names"),
        (lambda: to_table(["a"], mean=[1.0, 2.0]), "mean holds 2 numbers for 1 columns"),
        (lambda: to_table(["a"])(torch.zeros(2)), "names 1 columns; a sample has 2"),
        (lambda: to_image([0.5]), "means and deviations"),
    ],
)
def test_what_cannot_be_shown(wrong, message):
    with pytest.raises(LoaderError, match=message):
        wrong()


def test_the_kind_of_input_decides():
    def kind(x, located=False, show=None):
        return pictured(x, 0, show, located)[0].kind

    assert kind(torch.zeros(1, 5, dtype=torch.long)) == "text"
    assert kind(torch.zeros(1, 5)) == "table"
    assert kind(torch.zeros(1, 5), located=True) == "series"
    assert kind(torch.zeros(1, 2, 50)) == "series"
    assert kind(torch.zeros(1, 3, 8, 8)) == "image"
    assert kind(torch.zeros(1, 1, 6, 8, 8)) == "image"  # a volume
    assert kind(torch.zeros(1, 6, 3, 8, 8)) == "image"  # a film
    both = {"size": torch.zeros(1, 2), "picture": torch.zeros(1, 3, 8, 8)}
    assert kind(Inputs.of(both)) == "image"
    assert kind(torch.zeros(1, 3, 8, 8), show=to_image([0.5] * 3, [0.5] * 3)) == "image"


def test_a_report_on_texts_has_words_with_strengths(tmp_path):
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randint(2, 30, (24, 7), generator=generator)
    texts = [" ".join(WORDS[i] for i in row[: 7 - n % 4]) for n, row in enumerate(numbers.tolist())]
    known = Texts(texts, [n % 3 for n in range(24)], length=7, class_names=["a", "b", "c"])
    known.tokens = sorted(known.tokens, key=lambda word: (word not in ("", "?"), word))
    data = Texts(texts, known.labels.tolist(), like=known)
    loader = torch.utils.data.DataLoader(data, 8)
    sparse = qpopt_torch.sparsify(
        Text(), loader, n_select=5, n_per_class=2, training=None, progress=False
    )
    assert sparse.class_names == ("a", "b", "c")
    _, page = data_of(sparse.report(tmp_path / "r.html", loader, progress=False))
    assert page["located"]
    evidence = gather(sparse, loader, progress=False)
    for sample in page["samples"]:
        assert sample["words"] == texts[sample["index"]].split()
        levels = np.frombuffer(base64.b64decode(sample["maps"]), dtype=np.uint8)
        levels = levels.reshape(5, len(sample["words"]))
        # The order of strengths is that of the maps, feature by feature.
        maps = evidence.samples[sample["index"]].maps.astype(float)
        for level, values in zip(levels, maps, strict=True):
            assert (np.diff(level[np.argsort(values)].astype(int)) >= 0).all()
    for explanation in (
        explain_class(evidence, 0),
        explain_feature(evidence, int(sparse.selection[0])),
        explain_decision(sparse, data[0], label=0, show=to_text(data.tokens)),
    ):
        assert "<img" in explanation._repr_html_()


def test_a_report_on_a_table_has_its_columns(tmp_path):
    rows = torch.randn(24, 4, generator=torch.Generator().manual_seed(0)) * 3 + 7
    names = ["height", "weight", "age", "speed"]
    data = Table(rows, torch.arange(24) % 3, columns=names, class_names=["x", "y", "z"])
    loader = torch.utils.data.DataLoader(data, 8)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 3))
    sparse = qpopt_torch.sparsify(
        model, loader, n_select=4, n_per_class=2, training=None, progress=False
    )
    _, page = data_of(sparse.report(tmp_path / "r.html", loader, progress=False))
    assert not page["located"]
    for sample in page["samples"]:
        shown = [
            [n, f"{v:.4g}"] for n, v in zip(names, rows[sample["index"]].tolist(), strict=True)
        ]
        assert sample["row"] == shown
    with pytest.raises(qpopt_torch.ModelError, match="pass one of them"):
        sparse.report(tmp_path / "r.html", loader, show=to_table(names), to_image=([0], [1]))
