"""A plain twin of the interpolated Witten-Bell model, with dictionaries."""

from collections import Counter, defaultdict


class WittenBell:
    def __init__(self, sequences: list[list[int]], vocab: int, order: int) -> None:
        self.vocab, self.order = vocab, order
        self.counts: Counter[tuple[int, ...]] = Counter()
        self.followed: Counter[tuple[int, ...]] = Counter()
        self.kinds: dict[tuple[int, ...], set[int]] = defaultdict(set)
        for tokens in sequences:
            for place, token in enumerate(tokens):
                for length in range(min(order - 1, place) + 1):
                    context = tuple(tokens[place - length : place])
                    self.counts[(*context, token)] += 1
                    self.followed[context] += 1
                    self.kinds[context].add(token)

    def probability(self, before: list[int], token: int) -> float:
        probability = 1 / self.vocab
        for length in range(min(self.order - 1, len(before)) + 1):
            context = tuple(before[len(before) - length :])
            if self.followed[context] == 0:
                break
            kinds = len(self.kinds[context])
            probability = (self.counts[(*context, token)] + kinds * probability) / (self.followed[context] + kinds)
        return probability
