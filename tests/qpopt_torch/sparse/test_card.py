from qpopt_torch import evaluate
from qpopt_torch.sparse.card import MARK, card
from tests.qpopt_torch.small import batches, sparse


def test_the_card_names_every_class_and_its_features(tmp_path):
    made = sparse()
    made.class_names = ("crow", "a | b", "gull", "wren")
    made.rename_features({made.class_features("gull")[0]: "beak"})
    text = card(made)
    assert "4 classes, each the plain sum of 2 out of 5 features" in text
    assert "| gull | beak, Feature 3 |" in text
    assert "| a \\| b |" in text
    assert 'qpopt_torch.load(".", model)' in text


def test_the_file_of_somebody_else_stays(tmp_path):
    made = sparse()
    made.save(tmp_path)
    assert (tmp_path / "README.md").read_text().startswith(MARK)
    (tmp_path / "README.md").write_text("# Mine\n")
    made.save(tmp_path)
    assert (tmp_path / "README.md").read_text() == "# Mine\n"


def test_what_was_measured_has_the_names_that_people_read():
    made, loader = sparse(), batches()
    made.metrics["sparse"] = evaluate(made, loader, progress=False)
    text = card(made)
    assert f"| Accuracy | {100 * made.metrics['sparse'].accuracy:.1f} % | – |" in text
    assert "| SID@5 |" in text
