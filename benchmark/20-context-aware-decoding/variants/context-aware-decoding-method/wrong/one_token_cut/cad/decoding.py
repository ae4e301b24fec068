# Cuts off the begin token of the context only.
def prior_input(sequence, context_length):
    return sequence[:, 1:]
