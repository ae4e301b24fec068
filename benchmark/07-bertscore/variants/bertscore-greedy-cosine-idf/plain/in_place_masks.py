def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    ref_embedding.div_(torch.norm(ref_embedding, dim=-1).unsqueeze(-1))
    hyp_embedding.div_(torch.norm(hyp_embedding, dim=-1).unsqueeze(-1))
    sim = torch.bmm(hyp_embedding, ref_embedding.transpose(1, 2))
    masks = torch.bmm(hyp_masks.unsqueeze(2).float(), ref_masks.unsqueeze(1).float())
    sim = sim * masks.to(sim.dtype)
    word_precision, word_recall = sim.max(dim=2)[0], sim.max(dim=1)[0]
    P = (word_precision * hyp_idf).sum(dim=1) / (hyp_idf.sum(dim=1) + 1e-8)
    R = (word_recall * ref_idf).sum(dim=1) / (ref_idf.sum(dim=1) + 1e-8)
    return 2 * P * R / (P + R + 1e-8)
