class RMSProp:
    def step(self, rate):
        for parameter in self.squares:
            gradient = parameter.grad
            if gradient is None:
                continue
            self.squares[parameter] = 0.99 * self.squares[parameter] + 0.01 * gradient.square()
            parameter.sub_(rate * gradient / (self.squares[parameter].sqrt().sqrt() + 10**-8))
