"""Which explanation of a network that reads series can be trusted? By step, by channel, by both."""

import numpy as np
import torch

import assay

rng = np.random.default_rng(0)
x, y = rng.normal(size=(400, 2, 24)).astype("float32"), rng.integers(0, 2, size=400)
for row, start in enumerate(rng.integers(0, 20, size=400)):
    x[row, 0, start : start + 4] += 3 if y[row] else -3  # a bump up or down, somewhere in channel 0
with torch.random.fork_rng():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv1d(2, 8, 5, padding=2),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool1d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 2),
    )
optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
for _ in range(60):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(net(torch.tensor(x[:300])), torch.tensor(y[:300])).backward()
    optimiser.step()

series = {"reference": x[:300], "channels_first": True}
for by in ("steps", "channels", "both"):
    print(by, dict(assay.evaluate(net.eval(), x[300:], by=by, limit=20, budget=None, **series).verdict))
assay.attribute(net, x[300:302], "integrated_gradients", by="both", **series).show().save("your_series.png")
