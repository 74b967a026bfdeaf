"""Which explanation of an image classifier can be trusted? Arrays, and the same images in a folder."""

from pathlib import Path

import torch
from PIL import Image
from sklearn.datasets import load_digits

import assay

digits = load_digits(n_class=3)
x, y = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32), torch.tensor(digits.target)
with torch.random.fork_rng():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(128, 3),
    )
optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(60):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(net(x[:400]), y[:400]).backward()
    optimiser.step()

print(assay.evaluate(net.eval(), x[400:], reference=x[:400], limit=40, budget=None))
for number in range(400, 424):
    place = Path("digits", str(int(y[number])), f"{number}.png")
    place.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((255 * x[number, 0]).byte().numpy()).save(place)
print(assay.evaluate(net, "digits", methods=["integrated_gradients", "gradient", "canny_edges"], budget=None))
