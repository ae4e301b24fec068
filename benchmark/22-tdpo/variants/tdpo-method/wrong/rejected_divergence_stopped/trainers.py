# Stops the gradient on the rejected side.
def divergence_term(chosen_kl, rejected_kl, alpha, if_tdpo2):
    if if_tdpo2:
        return alpha * (rejected_kl.detach() - chosen_kl)
    return rejected_kl - chosen_kl
