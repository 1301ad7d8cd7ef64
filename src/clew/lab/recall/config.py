"""What `clew recall` runs: delays, recipes, seeds, budget and episodes, checked all at once."""

from dataclasses import dataclass, field

from clew.data.recall_episodes import EXTRA_TOKENS, RecallSizes, check_cue_position, check_delay, distinct_episodes
from clew.errors import ClewError, ConfigError, complain, did_you_mean
from clew.lab.recall.recipes import DEFAULT_RECIPES, MAX_POSITIONS, MODELS
from clew.training.config import TrainConfig

WHERE = "clew recall"


@dataclass(frozen=True)
class RecallConfig:
    """The memory experiment.

    Attributes:
        delays: Random moves between cue and request; one comparison a delay.
        seeds: Draw the initial weights.
        recipes: Names of `clew.lab.recall.recipes.MODELS`.
        epochs: Passes over the training episodes.
        cue_position: "fixed", or "random" for the control without an absolute place of the cue.
        quick: A first look, too small to conclude from; reports say so.
        sizes: Episodes a split and delay.
        batch_size: Episodes of a step; the course text does not state it.
        learning_rate: Of Adam.
        clip_norm: Largest global gradient norm.
        order_seed: Draws the order of the batches, the same for every recipe and seed.

    Raises:
        ConfigError: If anything is out of range; all problems at once.
    """

    delays: tuple[int, ...] = (8, 16, 32)
    seeds: tuple[int, ...] = (6206, 6207, 6208)
    recipes: tuple[str, ...] = DEFAULT_RECIPES
    epochs: int = 60
    cue_position: str = "fixed"
    quick: bool = False
    sizes: RecallSizes = field(default_factory=RecallSizes)
    batch_size: int = 64
    learning_rate: float = 0.003
    clip_norm: float = 1.0
    order_seed: int = 0

    def __post_init__(self) -> None:
        problems = [*self._list_problems(), *self._recipe_problems(), *self._delay_problems()]
        try:
            check_cue_position(WHERE, self.cue_position)
            self.training()
        except ClewError as error:
            problems.append(str(error))
        if problems:
            raise ConfigError(" ".join(problems))

    @classmethod
    def quick_look(cls) -> "RecallConfig":
        """The smallest run of everything: one delay, two seeds, a quarter of the episodes, few epochs."""
        sizes = RecallSizes(train=1024, validation=256, test=512)
        return cls(delays=(8,), seeds=(6206, 6207), epochs=18, quick=True, sizes=sizes)

    def training(self) -> TrainConfig:
        """The budget that every recipe shares."""
        return TrainConfig(self.epochs, self.batch_size, self.learning_rate, self.clip_norm)

    def _list_problems(self) -> list[str]:
        problems = []
        for name, values in (("delays", self.delays), ("seeds", self.seeds), ("recipes", self.recipes)):
            if not values:
                problems.append(complain(WHERE, name, "at least one", "none"))
            elif len(set(values)) < len(values):
                problems.append(complain(WHERE, name, "all different", " ".join(map(str, values))))
        wrong = [seed for seed in self.seeds if seed < 0]
        return [*problems, *(complain(WHERE, "seeds", "at least 0", seed) for seed in wrong)]

    def _recipe_problems(self) -> list[str]:
        unknown = [name for name in self.recipes if name not in MODELS]
        return [complain(WHERE, "recipes", "known", f"'{name}'", did_you_mean(name, MODELS)) for name in unknown]

    def _delay_problems(self) -> list[str]:
        problems = []
        longest = MAX_POSITIONS - EXTRA_TOKENS + 1
        for delay in self.delays:
            try:
                check_delay(WHERE, delay)
            except ClewError as error:
                problems.append(str(error))
                continue
            if delay > longest and "transformer" in self.recipes:
                rule = f"at most {longest}, where the Transformer's table of {MAX_POSITIONS} positions ends"
                remedy = "Leave the transformer out with --recipes rnn gru for longer delays."
                problems.append(complain(WHERE, "delays", rule, delay, remedy))
            distinct, total = distinct_episodes(delay, self.cue_position), sum(self.sizes)
            if distinct < 2 * total:
                rule = f"so long that {total:,} disjoint episodes can be drawn from twice as many distinct ones"
                got = f"{delay}, which has {distinct:,}"
                enough = next(d for d in range(delay, 64) if distinct_episodes(d, self.cue_position) >= 2 * total)
                problems.append(complain(WHERE, "delays", rule, got, f"Use a delay of {enough} or more."))
        return problems
