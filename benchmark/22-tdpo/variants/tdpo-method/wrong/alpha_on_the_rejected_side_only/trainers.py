# Weights the rejected divergence only.
def divergence_term(chosen_kl, rejected_kl, alpha, if_tdpo2):
    if if_tdpo2:
        return alpha * rejected_kl - chosen_kl.detach()
    return rejected_kl - chosen_kl
