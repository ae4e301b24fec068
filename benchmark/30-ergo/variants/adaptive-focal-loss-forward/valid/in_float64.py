def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    wide = preds.double().reshape(-1, preds.size(-1))
    gold = labels.reshape(-1)
    log_q = torch.log_softmax(wide, dim=-1)
    log_p = log_q[torch.arange(len(gold), device=preds.device), gold]
    losses = -self.alpha.to(preds.device, torch.float64)[gold] * (1 - log_p.exp()) ** self.gamma * log_p
    value = losses.mean() if self.size_average else losses.sum()
    return value.to(torch.promote_types(preds.dtype, self.alpha.dtype))
