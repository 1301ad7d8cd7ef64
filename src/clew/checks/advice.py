"""What each fault is called, what usually causes it and what to do: the words of every check, in one place.

A check says what it saw; where it knows the cause better than what stands here, it says that too. Nothing here knows a
model. Start with `ADVICE`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """The words about one fault.

    Attributes:
        verdict: What a model or a data set with this fault does, after "This model" or "This data".
        question: What the check asks.
        causes: What usually causes the fault.
        remedy: What to do about it.
    """

    verdict: str
    question: str
    causes: str
    remedy: str


ADVICE = {
    "future": Advice(
        "reads the future",
        "Does a later step move an earlier output?",
        "a causal mask that is missing, inverted or dropped on this path; a convolution padded on both sides; a mean, "
        "norm or routing over time; a bidirectional layer",
        "Let no layer pass anything from a later step to an earlier one: mask it, pad on the left only, take running "
        "statistics over the past. If the task may read ahead, audit with boundary='full'.",
    ),
    "boundary": Advice(
        "reads what its boundary forbids",
        "Does a source that the boundary forbids move an output?",
        "a mask that is missing or inverted; documents or windows that share state; an axis mixed up",
        "Hand the mask to every layer that mixes steps, with the meaning that this layer expects, and reset state "
        "where a document ends.",
    ),
    "mask_polarity": Advice(
        "reads padding in the place of real steps",
        "Is the mask read the right way round?",
        "a mask whose True means the opposite",
        "Invert the mask where it is handed on; torch.nn's key_padding_mask is True at padding.",
    ),
    "padding_content": Advice(
        "reads its padding",
        "Does what stands in padding move a valid output?",
        "a mask that is missing, dropped on the way or applied too late; a mean or maximum over padding; the last "
        "column taken for the last step",
        "Hand lengths or a mask to every layer that mixes steps, and pool over real steps only.",
    ),
    "padding_amount": Advice(
        "depends on how much padding there is",
        "Does more padding move a valid output?",
        "a division by the padded length, positions or a state counted from the end, a window over columns",
        "Divide by the number of real steps, and count positions from the first real one.",
    ),
    "padding_side": Advice(
        "depends on the side of its padding",
        "Does it matter on which side the padding stands?",
        "positions counted from the first column; the last or first column taken for the last or first step",
        "Count positions from the first real step, and find the last step by the mask.",
    ),
    "batch_mates": Advice(
        "lets the rows of a batch see each other",
        "Do other rows of the batch move a row?",
        "statistics or attention over the batch axis, a layer that takes time first, a flattening that joins rows",
        "Check batch_first and every reshape; use statistics within a row.",
    ),
    "batch_order": Advice(
        "depends on the order of the rows in a batch",
        "Does the order of the rows move a row?",
        "rows sorted by length and not put back, a state or bias for each place",
        "Put rows back into their order, or let enforce_sorted=False do it.",
    ),
    "state_carry": Advice(
        "remembers earlier calls",
        "Does an earlier call change a later one?",
        "a hidden state, cache or running value kept on the module",
        "Reset it where a call begins. If it is meant to stay, audit with stateful=True.",
    ),
    "target_shift": Advice(
        "is scored against the wrong targets",
        "Is each output tied to its own target?",
        "targets that are shifted twice or not at all; a shift after rows and steps were joined into one axis",
        "Shift exactly once, along time, in the data or in the loss.",
    ),
    "ignored_targets": Advice(
        "counts the wrong targets",
        "Do ignored targets not count, and all others count?",
        "an id that means padding and something else, such as the end; a loss that does not know of padding",
        "Mark padding by targets of -100, and by nothing that is a real target too.",
    ),
    "loss_weight": Advice(
        "weighs targets by how the batch is cut",
        "Is the loss of a batch the mean over its targets, however it is cut?",
        "a sum, a mean of row means, a division by padded positions, a mean of micro-batch means in accumulation",
        "Sum over valid targets and divide once by their number in the whole batch.",
    ),
    "cache": Advice(
        "decodes differently in steps than in one pass",
        "Does decoding in steps give what one full pass gives?",
        "a causal mask aligned with the first key instead of the last; positions that start again in each chunk; a "
        "convolution that forgets what came before; a cache that is cut",
        "Count positions and align the mask from the length of the cache.",
    ),
    "modes": Advice(
        "gives other outputs in another mode",
        "Are the outputs the same in training without dropout, with gradients, and with weights asked for?",
        "a mask that one path ignores, a fast path that treats padding otherwise, code that looks at the mode",
        "Compare the two paths of the submodule that is named.",
    ),
    "determinism": Advice(
        "does not repeat itself in evaluation",
        "Does the same input give the same output twice?",
        "a dropout rate given to a functional layer whatever the mode; a layer that was never put in evaluation mode",
        "Hand the mode on: dropout(x, p, training=self.training).",
    ),
    "empty_row": Advice(
        "fails where there is nothing to read",
        "Does a query or row with nothing to read stay finite and empty?",
        "a softmax over nothing but -inf, a division by a length of 0, a length raised to 1",
        "Give such queries a value of their own, such as zeros, before and not after the division.",
    ),
    "position": Advice(
        "misses what it may read",
        "Is what may be read really read, and told apart by its place?",
        "positions that never reach the layers; a mask that hides too much, or is shifted by one",
        "Add positions to what is read, or open the mask. If the order of the steps means nothing, audit with "
        "ordered=False.",
    ),
    "gradients": Advice(
        "does not learn in every part",
        "Does every parameter get a finite gradient?",
        "a layer that is not used or is detached; a root or logarithm of 0; overflow",
        "Use the layer or remove it; keep roots and logarithms away from 0.",
    ),
    "input_changed": Advice(
        "writes into its input",
        "Is the input left as it was?",
        "an in-place operation (relu_, masked_fill_, +=) on the tensor that was given",
        "Work on a new tensor: masked_fill in the place of masked_fill_.",
    ),
    "split_overlap": Advice(
        "has the same group or time in two splits",
        "Are groups and times of held-out rows absent from training?",
        "rows that belong together, split at random",
        "Split by group or by time, not by row.",
    ),
    "window_overlap": Advice(
        "trains on steps that are scored later",
        "Does a training window or target reach into held-out targets?",
        "windows that were cut before the split",
        "Split first, cut windows afterwards, and leave a gap as long as the horizon.",
    ),
    "fitted_on_test": Advice(
        "lets held-out data into what is fitted",
        "Does anything fitted move when only held-out data moves?",
        "a scaler, vocabulary or selection fitted before the split",
        "Fit on the training split alone and apply it to the others.",
    ),
    "duplicate_rows": Advice(
        "has the same rows in training and held out",
        "Is every held-out row new?",
        "repeated records that were split at random",
        "Remove repeats before the split, or keep them on one side.",
    ),
    "label_in_features": Advice(
        "has its label among the features",
        "Does a column tell the label?",
        "a column that is known only after the label",
        "Leave the column out of what is read.",
    ),
}
"""The words of every check, in the order in which faults are told: what leaks first, then what is only uneven."""

OTHER = Advice("fails a check", "", "", "")


def advice_for(name: str) -> Advice:
    """Give the words of a check; none for one that is not listed."""
    return ADVICE.get(name, OTHER)
