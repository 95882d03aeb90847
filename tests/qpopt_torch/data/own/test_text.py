import pytest

from qpopt_torch import LoaderError, Texts


def test_texts_without_a_tokenizer():
    texts = Texts(["the bird and the fish", "a bird"], [0, 1], length=4, n_words=4)
    assert texts.tokens == ["", "?", "bird", "the"]
    assert texts[0]["input_ids"].tolist() == [3, 2, 1, 3]
    other = Texts(["The bird"], [1], like=texts)
    assert other[0]["input_ids"].tolist() == [3, 2, 0, 0]
    assert other[0]["attention_mask"].tolist() == [1, 1, 0, 0]


class Tokenizer:
    """Letters by their numbers, called as tokenizers of transformers are."""

    def __call__(self, texts, padding, truncation, max_length):
        assert padding == "max_length"
        assert truncation
        ids = [[ord(letter) for letter in text][:max_length] for text in texts]
        return {
            "input_ids": [row + [0] * (max_length - len(row)) for row in ids],
            "attention_mask": [[1] * len(row) + [0] * (max_length - len(row)) for row in ids],
        }


def test_texts_with_a_tokenizer():
    tokenizer = Tokenizer()
    texts = Texts(["abc", "abcdef"], [0, 1], tokenizer=tokenizer, length=4, class_names=["x", "y"])
    assert texts.input_ids.tolist() == [[97, 98, 99, 0], [97, 98, 99, 100]]
    other = Texts(["b"], [1], like=texts)
    assert other.input_ids.tolist() == [[98, 0, 0, 0]]
    assert other.tokens is tokenizer
    assert other.class_names == ("x", "y")


def test_texts_that_cannot_be():
    with pytest.raises(LoaderError, match="1 texts and 2 labels"):
        Texts(["a"], [0, 1])
    with pytest.raises(LoaderError, match="must be a string"):
        Texts([1], [0])
