def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    scores = []
    for b in range(ref_embedding.shape[0]):
        K, J = int(ref_masks[b].sum()), int(hyp_masks[b].sum())
        x, x_hat = ref_embedding[b, :K], hyp_embedding[b, :J]
        cosine = torch.cosine_similarity(x_hat[:, None, :], x[None, :, :], dim=-1)
        w, w_hat = ref_idf[b, :K], hyp_idf[b, :J]
        recall = (w * cosine.max(dim=0).values).sum() / w.sum()
        precision = (w_hat * cosine.max(dim=1).values).sum() / w_hat.sum()
        scores.append(2 * precision * recall / (precision + recall))
    return torch.stack(scores)
