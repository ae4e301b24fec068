# Sums over triples, as the equations are written.
def clustering_loss(child_to_parent, child_to_negative, margin):
    return torch.relu(child_to_parent - child_to_negative + margin).sum()


def centripetal_loss(child_norm, parent_norm, margin):
    return torch.relu(parent_norm - child_norm + margin).sum()
