"""The chapter's scalar RNN as a model like every other: one input, one state, one output, three steps.

The weights, inputs and target are those of `clew.walkthrough.scalar_rnn`, the loss is half the squared error of the
prediction after the last step. Biases are zero and fixed, as there. Start with `scalar_subject`.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.models import SequenceModel, build
from clew.report.subject import Subject
from clew.tasks import Regression
from clew.walkthrough.scalar_rnn import INPUT_WEIGHT, INPUTS, OUTPUT_WEIGHT, RECURRENT_WEIGHT, TARGET
from clew.walkthrough.unrolled import with_weights


class HalfSquaredError(Regression):
    """Regression with the chapter's loss: half the squared error, so that its derivative is the error itself."""

    def loss(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Give half of what `Regression.loss` gives."""
        return 0.5 * super().loss(model, batch)


def scalar_model() -> SequenceModel:
    """Make the model with the chosen weights, in double precision."""
    model = build("rnn", features=1, outputs=1, hidden=1, head="last")
    layer = model.get_submodule("encoder.recurrent.0")
    with_weights(layer, weight_ih=[[INPUT_WEIGHT]], weight_hh=[[RECURRENT_WEIGHT]])
    with_weights(model.head, **{"linear.weight": [[OUTPUT_WEIGHT]]})
    return model.double().eval()


def scalar_subject() -> Subject:
    """Put the model, its three inputs and its target together."""
    inputs = torch.tensor(INPUTS, dtype=torch.float64).reshape(1, -1, 1)
    batch = Batch(inputs, targets=torch.tensor([[TARGET]], dtype=torch.float64))
    words = [[f"x_{step} = {value}" for step, value in enumerate(INPUTS)]]
    description = "the chapter's scalar RNN: one input, one state, one output, half the squared error of the last step"
    title = f"The numbers {', '.join(map(str, INPUTS))}, with the target {TARGET}"
    return Subject(scalar_model(), words, batch, (), description, HalfSquaredError(), "step", title)
