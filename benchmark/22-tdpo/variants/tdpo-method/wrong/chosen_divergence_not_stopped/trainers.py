# Lets gradients through the chosen side in TDPO2.
def divergence_term(chosen_kl, rejected_kl, alpha, if_tdpo2):
    return (alpha if if_tdpo2 else 1.0) * (rejected_kl - chosen_kl)
