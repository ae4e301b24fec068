"""Settings of the demonstration."""

SEED = 0
SAMPLES = 64
LENGTH = 40
SMOOTHING = 0.05
#: Values of the nucleus that are compared; 1.0 is pure sampling.
TOP_P = (0.3, 0.6, 0.9)
TEXT = (
    "the nucleus holds the bulk of the probability mass, and the tail holds the many tokens that are each unlikely "
    "and together are not; to sample from the tail once is to leave the text that the model knows."
)
