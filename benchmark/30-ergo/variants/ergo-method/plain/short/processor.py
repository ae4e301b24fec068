# As short as it goes.
def pair_labels(document, pairs):
    links = {frozenset(link) for link in document.causal_links}
    return torch.tensor([int(frozenset(p) in links) for p in pairs.tolist()])
