# Takes the mean similarity to all tokens of the reference for precision.
def token_matches(similarity, ref_masks, hyp_masks):
    similarity = similarity * hyp_masks.unsqueeze(2) * ref_masks.unsqueeze(1)
    precision = similarity.sum(2) / ref_masks.sum(1, keepdim=True)
    return precision, similarity.amax(1)
