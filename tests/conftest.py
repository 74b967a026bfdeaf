"""One thread everywhere: results are promised for it, and two cores are shared by two test processes."""

import torch

torch.set_num_threads(1)
