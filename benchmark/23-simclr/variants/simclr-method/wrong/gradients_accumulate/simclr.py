# Never drops the gradients of earlier batches.
class SimCLR:
    def _step(self, images):
        logits, labels = self.info_nce_loss(self.model(images))
        loss = self.criterion(logits, labels)
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return [loss.item(), *accuracy(logits, labels, (1, 5))]
