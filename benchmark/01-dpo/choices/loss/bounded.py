def pair_loss(margin):
    return torch.sigmoid(-margin)
