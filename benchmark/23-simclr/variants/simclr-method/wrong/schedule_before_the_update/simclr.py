# Moves the learning rate on before the update, which makes the update with the next rate.
class SimCLR:
    def _step(self, images):
        logits, labels = self.info_nce_loss(self.model(images))
        loss = self.criterion(logits, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.scheduler.step()
        self.optimizer.step()
        return [loss.item(), *accuracy(logits, labels, (1, 5))]
