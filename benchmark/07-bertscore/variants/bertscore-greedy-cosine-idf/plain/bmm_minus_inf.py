import torch.nn.functional as F


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    ref = F.normalize(ref_embedding, dim=-1)
    hyp = F.normalize(hyp_embedding, dim=-1)
    sim = torch.bmm(hyp, ref.transpose(1, 2))
    mask = hyp_masks.unsqueeze(2) * ref_masks.unsqueeze(1)
    sim = sim.masked_fill(mask == 0, -1e4)
    P = (sim.max(dim=2)[0] * hyp_idf).sum(dim=1) / hyp_idf.sum(dim=1)
    R = (sim.max(dim=1)[0] * ref_idf).sum(dim=1) / ref_idf.sum(dim=1)
    return 2 * P * R / (P + R)
