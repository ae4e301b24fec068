# One triple at a time.
def clustering_loss(child_to_parent, child_to_negative, margin):
    terms = [torch.relu(near - far + margin) for near, far in zip(child_to_parent, child_to_negative)]
    return sum(terms) / len(terms)


def centripetal_loss(child_norm, parent_norm, margin):
    terms = [torch.relu(inner - outer + margin) for outer, inner in zip(child_norm, parent_norm)]
    return sum(terms) / len(terms)
