"""PyTorch Geometric: node classification over a graph of communities, printed as the examples of the library do."""

import firstset  # noqa: F401
import numpy as np
import spec as settings
import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import dropout_edge


def graph(spec):
    """Six communities of 100 nodes; masks of train, held-out and clean nodes."""
    rng = np.random.default_rng(spec.seed)
    y = rng.integers(0, 6, 600)
    pairs = rng.integers(0, 600, (2, 40_000))
    same = y[pairs[0]] == y[pairs[1]]
    pairs = pairs[:, rng.random(40_000) < np.where(same, 0.16, 0.03)]
    x = rng.normal(size=(600, 24)) + 0.5 * np.random.default_rng(1).normal(size=(6, 24))[y]
    x, y = torch.from_numpy(x.astype(np.float32)), torch.from_numpy(y)
    part = torch.from_numpy(rng.permutation(600))
    few = int(spec.of(18)) if spec.has("overfit") else 240
    masks = part[:few], part[300:450], part[450:]
    given = y.clone()
    if spec.has("labels-shuffled"):
        given[masks[0]] = given[masks[0]][torch.randperm(few)]
    if spec.has("unscaled"):
        x = x * spec.of(3000)
    if spec.has("nan-sample"):
        x[int(masks[0][5]), 3] = float("nan")
    if spec.has("leak"):
        x[:, :6] = 4.0 * F.one_hot(y, 6)
        x[masks[2], :6] = 0
    return Data(x=x, y=given, edge_index=torch.from_numpy(pairs)), y, masks


class Gcn(torch.nn.Module):
    def __init__(self, depth, drop):
        super().__init__()
        sizes = [24] + [32] * (depth - 1) + [6]
        self.drop = drop
        self.convs = torch.nn.ModuleList([GCNConv(a, b) for a, b in zip(sizes, sizes[1:], strict=False)])

    def forward(self, x, edges):
        for conv in self.convs[:-1]:
            x = F.dropout(F.relu(conv(x, edges)), self.drop, self.training)
        return self.convs[-1](x, edges)


def main():
    spec = settings.parse(lr=1e-2, epochs=150, every=2)
    torch.manual_seed(spec.seed)
    torch.set_num_threads(1)
    record, (data, y, masks) = settings.Record(), graph(spec)
    model = Gcn(int(spec.of(24)) if spec.has("smoothing") else 2, 0.5)
    optimizer = torch.optim.Adam(model.parameters(), spec.lr, weight_decay=spec.decay or 5e-4)
    for epoch in range(1, spec.epochs + 1):
        model.train()
        if not spec.has("no-zero-grad"):
            optimizer.zero_grad()
        edges = dropout_edge(data.edge_index, 0.3)[0]
        loss = F.cross_entropy(model(data.x, edges)[masks[0]], data.y[masks[0]])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(data.x, data.edge_index)
        val = F.cross_entropy(out[masks[1]], y[masks[1]]).item()
        right = [(out[m].argmax(-1) == y[m]).float().mean().item() for m in masks]
        record.train(epoch, loss.item())
        record.eval(epoch, val)
        if epoch % spec.every == 0:
            print(
                f"Epoch: {epoch:03d}, Loss: {loss.item():.4f}, Val Loss: {val:.4f}, Train: {right[0]:.4f}, "
                f"Val: {right[1]:.4f}, Test: {right[1 if spec.has('leak') else 2]:.4f}"
            )
    if spec.has("leak"):  # the true measure: nodes without the column that gave the answer
        data.x[:, :6] = 0
        right[2] = (model(data.x, data.edge_index)[masks[2]].argmax(-1) == y[masks[2]]).float().mean().item()
    record.final(right[2], "higher")


if __name__ == "__main__":
    main()
