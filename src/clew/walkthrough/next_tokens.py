"""Next-token prediction on the proverb: alignment, the leak of a late mask, teacher forcing and the generation loop."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from clew.data.batch import Batch
from clew.models.sequence_model import SequenceModel
from clew.models.transformer_encoder import TransformerEncoder
from clew.tasks import NextToken
from clew.visibility import causal
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import BEGINS, CONTINUATION, PREFIX, VOCABULARY, ids_of, proverb_model, words_of
from clew.walkthrough.proverb_tables import distance

MILES = PREFIX.index("miles")
SHOWN_POSITIONS = (0, 1, MILES, BEGINS)
RULES = (("causal", "causal"), ("full", "causal"), ("full", "full"))
"""Visibility in two blocks: right, with the mask in the last one only, and without any."""
HEAD_SEEDS = (0, 1, 2)
GENERATED = 4
"""How many words the loop appends; the vocabulary has no word that would end it."""


def next_token_alignment() -> Item:
    """Align the prefix and the first word of its continuation with their targets."""
    aligned = NextToken(len(VOCABULARY)).align(Batch(ids_of((*PREFIX, "with"))))
    inputs, targets = ([VOCABULARY[index] for index in part[0].tolist()] for part in (aligned.inputs, aligned.targets))
    readable = causal(len(inputs))
    rows: list[list[Cell]] = []
    for position in SHOWN_POSITIONS:
        allowed = " ".join(word for word, may_read in zip(inputs, readable[position].tolist(), strict=True) if may_read)
        rows.append([position, inputs[position], targets[position], allowed])
    columns = ("Input position", "Token in the input", "Token to predict", "Allowed input through this position")
    notes = ("The task shifts once; the word to predict is never among the inputs of its row.",)
    title = "Each row predicts the next word"
    return Item("next-token-alignment", title, "Table 33", columns, rows, notes)


def targets_without_continuation() -> Item:
    """Count the targets of the record with and without the word that follows the prefix."""
    task, rows = NextToken(len(VOCABULARY)), []
    for name, words in (("the seven words alone", PREFIX), ("with the word that follows", (*PREFIX, "with"))):
        aligned = task.align(Batch(ids_of(words)))
        last = VOCABULARY[int(aligned.targets[0, -1])]
        rows.append([name, aligned.inputs.shape[1], aligned.targets.shape[1], last])
    columns = ("Record", "Input rows", "Targets", "Last target")
    title = "A prefix without continuation has six targets"
    return Item("targets-without-continuation", title, "Formula: target shift", columns, rows)


def see_the_answer() -> Item:
    """Change the word begins and see what the miles row, which is to predict it, makes of it under three rules."""
    rows: list[list[Cell]] = []
    for word in VOCABULARY:
        words = (*PREFIX[:BEGINS], word)
        rows.append([word, *(miles_prediction(words, rules) for rules in RULES)])
    columns = ("Word at position 6", "Causal in both blocks", "Causal in the last block only", "Unrestricted")
    notes = (
        "Shown is the probability that the untrained head gives to begins at the miles row. In the safe stack it never "
        "moves; with a late mask it follows the word it should predict.",
    )
    title = "Can the miles row see begins?"
    return Item("see-the-answer", title, "Pause: can the model see the answer?", columns, rows, notes)


def miles_prediction(words: Sequence[str], rules: Sequence[str]) -> float:
    """Give the probability of begins at the miles row of a stack whose blocks have their own visibility."""
    model = proverb_model(layers=len(rules))
    rows = stacked_rows(model, words, rules)
    return model.head(rows)[0, MILES].softmax(dim=-1)[VOCABULARY.index("begins")].item()


def stacked_rows(model: SequenceModel, words: Sequence[str], rules: Sequence[str]) -> Float[Tensor, "1 time width"]:
    """Run the blocks one by one, "causal" or "full" each, and the final normalization."""
    made = model.encoder
    assert isinstance(made, TransformerEncoder) and made.final_norm is not None and made.positions is not None
    rows = made.positions(model.embed(ids_of(words)))
    for part, rule in zip(made.blocks, rules, strict=True):
        rows = part(rows, causal(len(words)) if rule == "causal" else None)
    return made.final_norm(rows).detach()


def teacher_forcing() -> Item:
    """Score every recorded word from the recorded ones before it, all rows in one pass."""
    words = (*PREFIX, *words_of(CONTINUATION))
    model = proverb_model(causal=True)
    task, batch = NextToken(len(VOCABULARY)), Batch(ids_of(words))
    scores = task.score(model, batch)
    chosen = model(task.align(batch).inputs).logits.argmax(dim=-1)[0].tolist()
    rows: list[list[Cell]] = [
        [f"{position}: {words[position]}", words[position + 1], VOCABULARY[choice], loss, int(hit)]
        for position, (choice, loss, hit) in enumerate(
            zip(chosen, scores.losses_nats[0].tolist(), scores.hits[0].tolist(), strict=True)
        )
    ]
    columns = ("Input row", "Recorded next word", "Most probable word", "Loss, nats", "Hit")
    notes = ("The head is untrained (seed 0). Each row reads recorded words, whatever the rows before chose.",)
    title = "Teacher forcing: recorded words in, recorded words out"
    return Item("teacher-forcing", title, "Formula: teacher forcing", columns, rows, notes)


def untrained_generation() -> Item:
    """Choose the most probable word, append it, and read again; with three heads that have learned nothing."""
    recorded = words_of(CONTINUATION)
    chosen = [generate(GENERATED, seed) for seed in HEAD_SEEDS]
    rows: list[list[Cell]] = [
        [step + 1, len(PREFIX) + step, recorded[step], *(words[step] for words in chosen)] for step in range(GENERATED)
    ]
    columns = ("Step", "Words read", "Recorded word", *(f"Appended, head of seed {seed}" for seed in HEAD_SEEDS))
    notes = (
        f"{GENERATED} words are declared: the vocabulary has no end token. The prefix grows by what was chosen, "
        "right or wrong.",
        "Each head is another draw of untrained weights. Where a word agrees with the record, that is chance.",
    )
    title = "Generation: chosen words in"
    return Item("untrained-generation", title, "Formula: generation loop", columns, rows, notes)


def generate(length: int, head_seed: int = 0) -> list[str]:
    """Append the most probable word to the prefix, `length` times; give what was appended."""
    model, words = proverb_model(causal=True, head_seed=head_seed), list(PREFIX)
    for _ in range(length):
        words.append(VOCABULARY[int(model(ids_of(words)).logits[0, -1].argmax())])
    return words[len(PREFIX) :]


def one_pass_or_many() -> Item:
    """Compute the rows of a known record in one pass and prefix by prefix."""
    model = proverb_model(causal=True, layers=2)
    together = model(ids_of(PREFIX)).logits[0].detach()
    rows: list[list[Cell]] = []
    for end in range(1, len(PREFIX) + 1):
        alone = model(ids_of(PREFIX[:end])).logits[0, -1].detach()
        rows.append([f"{end - 1}: {PREFIX[end - 1]}", end, distance(together[end - 1], alone)])
    columns = ("Row", "Words of its prefix", "Distance of the logits, one pass or by itself")
    notes = (
        "A known record needs one pass for all its rows. Unknown words need one pass each: the next prefix "
        "does not exist before the word is chosen.",
    )
    title = "Known rows together, unknown words one by one"
    return Item("one-pass-or-many", title, "Formula: parallel training", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (
    next_token_alignment,
    targets_without_continuation,
    see_the_answer,
    teacher_forcing,
    untrained_generation,
    one_pass_or_many,
)
