"""What the text prints of its recurrent half, with its digits; transcribed, not computed."""

PYTORCH_LINES: dict[str, list[float]] = {
    "h_0": [0.0128, 0.122],
    "h_1": [0.00930, 0.0915],
    "h_2": [0.0384, 0.314],
    "prediction": [-0.144],
    "loss": [0.208],
}
PYTORCH_OUTPUT = """\
h_0 = [0.0128, 0.122]
h_1 = [0.00930, 0.0915]
h_2 = [0.0384, 0.314]
prediction = -0.144
loss = 0.208"""
GRU_MIXTURE = (0.9, 0.5, -0.4, 0.410)  # gate, old state, candidate, new state
FIVE_TRANSITIONS = -0.32768  # (-0.8)^5, of exercise 2
FIXED_FACTORS = (0.8, 1.0, 1.2)
ZERO_INPUT_FACTOR = 1.2
UNIFORM_MOVEMENT = (1 / 4, 1.39)  # accuracy, nats
PARAMETERS = {"RNN": 1943, "GRU": 2023, "Transformer": 1915}
TABLE_34 = [
    ["RNN", "1 ± 0", "0.44 ± 0.126", "0.257 ± 0"],
    ["GRU", "1 ± 0", "0.814 ± 0.116", "0.322 ± 0.102"],
    ["Transformer", "1 ± 0", "1 ± 0", "1 ± 0"],
]
LARGEST_SIGMOID_SLOPE = 1 / 4
