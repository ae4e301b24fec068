# Returns the recall.
def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    similarity = similarity_matrix(ref_embedding, hyp_embedding)
    return side_score(token_matches(similarity, ref_masks, hyp_masks)[1], ref_idf)
