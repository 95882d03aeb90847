from hypothesis import given
from hypothesis import strategies as st

from qpopt_torch.evidence.top_samples import TopSamples

offers = st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), max_size=30)


def greedy(scored, size, per_group):
    """Take items from the best down, skipping full groups."""
    kept, used = [], {}
    for _, index, group in sorted(scored, key=lambda item: (-item[0], item[1])):
        if len(kept) < size and used.get(group, 0) < (per_group or len(scored)):
            kept.append(index)
            used[group] = used.get(group, 0) + 1
    return tuple(kept)


@given(offers, st.integers(0, 6), st.sampled_from([None, 1, 2]), st.randoms())
def test_keeps_the_best_in_any_order(items, size, per_group, random):
    scored = [(score, index, group) for index, (score, group) in enumerate(items)]
    expected = greedy(scored, size, per_group)
    random.shuffle(scored)
    top = TopSamples(size, per_group)
    for score, index, group in scored:
        top.offer("key", score, index, group)
    assert top.of("key") == expected
    assert tuple(top) == expected


def test_keys_do_not_mix():
    top = TopSamples(1)
    top.offer("a", 1.0, 7)
    top.offer("b", 2.0, 8)
    assert (top.of("a"), top.of("b"), top.of("c")) == ((7,), (8,), ())
