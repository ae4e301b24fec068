# Does not mask padding, whose vectors may be the best match.
def token_matches(similarity, ref_masks, hyp_masks):
    return similarity.amax(2), similarity.amax(1)
