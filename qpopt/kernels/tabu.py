"""The compiled loop of the tabu search over the full neighbourhood of single swaps.

Each step weighs every swap by the change of Z without uniqueness, corrected by what the classes
that share their set now would save if the swap touched them. The swaps close to the best are then
judged by an estimate of what uniqueness costs after them, and the best of these is made.
"""

from __future__ import annotations

import numpy as np

from qpopt.kernels.auction import uniqueness_cost
from qpopt.kernels.compiled import compiled
from qpopt.kernels.random import next_random
from qpopt.kernels.swap import swap

BARRED = np.int32(-(2**30))
WIDEST_MARGIN = 2**28
"""Wide enough for every swap, too narrow for one that is barred."""


@compiled(nogil=True)
def tabu_search(problem, state, memory, auction, steps, patience):
    """Make up to `steps` swaps, or fewer when the best is not improved for `patience` of them.

    It makes fewer as well, but one at least, where judging them takes long.

    Returns the number of steps made. Resumes exactly where the last call stopped.
    """
    hold = memory.hold
    auction.looked[0] = 0
    for step in range(steps):
        if memory.idle[0] >= patience or auction.looked[0] > memory.params.most_looked:
            return step
        memory.clock[0] += 1
        memory.idle[0] += 1
        clock = memory.clock[0]
        current = state.total[0] - uniqueness_cost(problem, state, auction, -1, 0)
        memory.best[0] = max(memory.best[0], current)
        place, entering, reached = _best_swap(problem, state, memory, auction, clock, current)
        if reached <= current or place < 0:
            _remember(state, problem, memory, current)
        if place < 0:
            continue
        leaving = state.selected[place]
        swap(problem, state, place, entering, memory.work)
        memory.enter_after[leaving] = clock + hold[0] + next_random(memory.random) % hold[2]
        memory.leave_after[entering] = clock + hold[1] + next_random(memory.random) % hold[2]
        if reached > memory.best[0]:
            memory.best[0] = reached
            memory.idle[0] = 0
    return steps


@compiled()
def _best_swap(problem, state, memory, auction, clock, current):
    """Return place, entering feature and estimate of the best swap that is not barred."""
    n_select = state.selected.shape[0]
    weight, loss, peak = memory.weight, memory.loss, memory.peak
    n_barred = _weigh(problem, state, memory, auction, clock)
    best = np.int64(BARRED)
    for place in range(n_select):
        d = state.selected[place]
        if problem.fixed[d]:
            peak[place] = BARRED
            continue
        peak[place] = _largest_sum(weight, state.exchange[place]) - loss[place]
        if memory.leave_after[d] <= clock:
            best = max(best, peak[place])
    n_found = 0
    if best > BARRED // 2:
        n_found = _collect(state, memory, clock, best - memory.margin[0])
        if n_found < memory.params.wanted:
            memory.margin[0] = min(memory.margin[0] + memory.margin[0] // 8 + 1, WIDEST_MARGIN)
        elif n_found > memory.params.wanted:
            memory.margin[0] -= memory.margin[0] // 8
    needed = memory.best[0] - current
    n_found = _aspire(problem, state, memory, n_found, n_barred, clock, needed)
    best_place, best_entering, best_estimate = -1, -1, np.int64(-(2**62))
    enough = auction.looked[0] + memory.params.most_looked
    for candidate in range(n_found):
        if best_place >= 0 and auction.looked[0] > enough:
            break
        place, j = memory.candidate[candidate, 0], memory.candidate[candidate, 1]
        reached = state.total[0] + _change(problem, state, place, j)
        if reached > best_estimate:
            reached -= uniqueness_cost(problem, state, auction, place, j)
            free = memory.leave_after[state.selected[place]] <= clock
            free &= memory.enter_after[j] <= clock
            if reached > best_estimate and (free or reached > memory.best[0]):
                best_place, best_entering, best_estimate = place, j, reached
    return best_place, best_entering, best_estimate


@compiled()
def _weigh(problem, state, memory, auction, clock):
    """Fill in the weight of every entering feature and the loss of every place.

    Returns how many features are barred only for a while; they are listed in `memory.barred`.
    """
    k = problem.n_per_class
    weight, loss = memory.weight, memory.loss
    for j in range(weight.shape[0]):
        weight[j] = np.int32(state.gain[j] - state.charge[j] + problem.b[j])
    for place in range(loss.shape[0]):
        d = state.selected[place]
        loss[place] = np.int32(state.used[place] - state.charge[d] + problem.b[d])
    for c in range(auction.paid.shape[0]):
        if auction.paid[c] == 0 or clock % memory.params.uncorrected == 0:
            continue
        paid = np.int32(auction.paid[c])
        t = state.top_value[c, k - 1]
        row = problem.A[c]
        for j in range(weight.shape[0]):
            weight[j] += paid if row[j] > t else np.int32(0)
        for rank in range(k):
            loss[state.top_place[c, rank]] -= paid
    n_barred = 0
    for j in range(weight.shape[0]):
        if state.chosen[j] or not problem.allowed[j]:
            weight[j] = BARRED
        elif memory.enter_after[j] > clock:
            weight[j] = BARRED
            memory.barred[n_barred] = j
            n_barred += 1
    return n_barred


@compiled()
def _largest_sum(first, second):
    largest = np.int32(-(2**31))
    for j in range(first.shape[0]):
        largest = max(largest, np.int32(first[j] + second[j]))
    return largest


@compiled()
def _collect(state, memory, clock, threshold):
    """List the swaps that are not barred and weigh at least `threshold`."""
    n_found, most = 0, memory.params.most_near
    for place in range(state.selected.shape[0]):
        if memory.peak[place] < threshold or memory.leave_after[state.selected[place]] > clock:
            continue
        least = threshold + memory.loss[place]
        row = state.exchange[place]
        for j in range(row.shape[0]):
            if np.int64(memory.weight[j]) + row[j] >= least and n_found < most:
                memory.candidate[n_found, 0] = place
                memory.candidate[n_found, 1] = j
                n_found += 1
    return n_found


@compiled()
def _aspire(problem, state, memory, n_found, n_barred, clock, needed):
    """Append the barred swaps that lead to a new best if uniqueness costs no more than now."""
    capacity = memory.candidate.shape[0]
    for place in range(state.selected.shape[0]):
        d = state.selected[place]
        if problem.fixed[d]:
            continue
        if memory.leave_after[d] > clock and memory.peak[place] > needed:
            row = state.exchange[place]
            least = np.int64(memory.peak[place]) + memory.loss[place]
            for j in range(row.shape[0]):
                if np.int64(memory.weight[j]) + row[j] == least and n_found < capacity:
                    memory.candidate[n_found, 0] = place
                    memory.candidate[n_found, 1] = j
                    n_found += 1
        for i in range(n_barred):
            j = memory.barred[i]
            if n_found < capacity and _change(problem, state, place, j) > needed:
                memory.candidate[n_found, 0] = place
                memory.candidate[n_found, 1] = j
                n_found += 1
    return n_found


@compiled()
def _change(problem, state, place, j):
    """Return by how much a swap changes Z without uniqueness."""
    d = state.selected[place]
    return (
        np.int64(state.gain[j])
        - state.charge[j]
        + problem.b[j]
        + state.exchange[place, j]
        - state.used[place]
        + state.charge[d]
        - problem.b[d]
    )


@compiled()
def _remember(state, problem, memory, estimate):
    """Keep the selection if it is among the best of this search."""
    worst = 0
    name = np.uint64(0)
    for d in state.selected:
        name += problem.key[d]
    for i in range(memory.kept.shape[0]):
        if memory.kept_name[i] == name:
            return
        if memory.kept[i] < memory.kept[worst]:
            worst = i
    if estimate > memory.kept[worst]:
        memory.kept[worst] = estimate
        memory.kept_name[worst] = name
        memory.kept_selected[worst] = state.selected
