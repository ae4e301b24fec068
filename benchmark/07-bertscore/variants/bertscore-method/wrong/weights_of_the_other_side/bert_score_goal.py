# Weighs each token with the weight of its counterpart in the other text.
def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    similarity = similarity_matrix(ref_embedding, hyp_embedding)
    hyp_matches, ref_matches = token_matches(similarity, ref_masks, hyp_masks)
    masked = similarity * hyp_masks.unsqueeze(2) * ref_masks.unsqueeze(1)
    of_hyp = ref_idf.gather(1, masked.argmax(2)) * hyp_masks
    of_ref = hyp_idf.gather(1, masked.argmax(1)) * ref_masks
    return combine(side_score(hyp_matches, of_hyp + 1e-12), side_score(ref_matches, of_ref + 1e-12))
