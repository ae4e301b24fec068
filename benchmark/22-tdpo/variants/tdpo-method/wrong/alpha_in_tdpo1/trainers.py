# Uses alpha in TDPO1, too.
def divergence_term(chosen_kl, rejected_kl, alpha, if_tdpo2):
    return alpha * (rejected_kl - (chosen_kl.detach() if if_tdpo2 else chosen_kl))
