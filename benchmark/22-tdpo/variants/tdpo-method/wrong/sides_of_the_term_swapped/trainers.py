# Subtracts the rejected divergence from the chosen one.
def divergence_term(chosen_kl, rejected_kl, alpha, if_tdpo2):
    if if_tdpo2:
        return alpha * (chosen_kl.detach() - rejected_kl)
    return chosen_kl - rejected_kl
