// Hover over any plot of a run: all its plots on that axis show the same position and the values there. The plots
// themselves are drawn in the page and need no script.
(() => {
  'use strict';

  const data = JSON.parse(document.getElementById('vigil-data').textContent);

  // Curves by rising step; after a restart the later value of a step wins.
  const sorted = (curve) => {
    const order = curve.steps.map((_, i) => i).sort((a, b) => curve.steps[a] - curve.steps[b] || a - b);
    return {name: curve.name, steps: order.map((i) => curve.steps[i]), values: order.map((i) => curve.values[i])};
  };

  // Index of the point nearest to the step; the last one of equals.
  const nearest = (steps, step) => {
    let low = 0;
    let high = steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (steps[middle] <= step) low = middle + 1; else high = middle;
    }
    const before = Math.max(0, low - 1);
    const after = Math.min(steps.length - 1, low);
    return step - steps[before] <= steps[after] - step ? before : after;
  };

  const format = (value) => {
    if (typeof value === 'string') return value;
    if (value === 0) return '0';
    const size = Math.abs(value);
    return size >= 1e6 || size < 1e-3 ? value.toExponential(3) : String(Number(value.toPrecision(4)));
  };

  // Plots on one axis move together; epochs and steps do not line up.
  const follow = (section, run) => {
    const plots = [...section.querySelectorAll('figure[data-plot]')].map((figure) => ({
      axis: run.axes[Number(figure.dataset.plot)],
      svg: figure.querySelector('svg'),
      cross: figure.querySelector('.cross'),
      readout: figure.querySelector('.readout'),
      curves: run.plots[Number(figure.dataset.plot)].map(sorted),
    }));
    for (const word of new Set(plots.map((plot) => plot.axis.word))) {
      const together = plots.filter((plot) => plot.axis.word === word);
      followAxis(together, together[0].axis);
    }
  };

  const followAxis = (plots, axis) => {
    const frame = data.frame;
    const span = Math.max(axis.last - axis.first, 1);
    const steps = [...new Set(plots.flatMap((plot) => plot.curves.flatMap((curve) => curve.steps)))].sort((a, b) => a - b);
    if (steps.length === 0) return;
    let shown = null;

    const show = (step) => {
      shown = step;
      const share = axis.last === axis.first ? 0.5 : (step - axis.first) / span;
      const x = String(frame.left + share * (frame.right - frame.left));
      for (const plot of plots) {
        plot.cross.setAttribute('x1', x);
        plot.cross.setAttribute('x2', x);
        plot.cross.classList.add('on');
        const parts = plot.curves.filter((curve) => curve.steps.length > 0).map((curve) => {
          const at = nearest(curve.steps, step);
          const where = curve.steps[at] === step ? '' : ` (${axis.word} ${curve.steps[at]})`;
          return `${curve.name} ${format(curve.values[at])}${where}`;
        });
        plot.readout.textContent = `${axis.word} ${step}  ·  ${parts.join('  ·  ')}`;
      }
    };
    const hide = () => {
      shown = null;
      for (const plot of plots) {
        plot.cross.classList.remove('on');
        plot.readout.textContent = '';
      }
    };

    for (const {svg} of plots) {
      svg.addEventListener('pointermove', (event) => {
        const box = svg.getBoundingClientRect();
        const x = (event.clientX - box.left) * frame.width / box.width;
        const share = Math.min(1, Math.max(0, (x - frame.left) / (frame.right - frame.left)));
        show(steps[nearest(steps, axis.first + share * (axis.last - axis.first))]);
      });
      svg.addEventListener('pointerleave', hide);
      svg.addEventListener('keydown', (event) => {
        const direction = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
        if (direction === 0) return;
        event.preventDefault();
        const at = shown === null ? (direction > 0 ? -1 : steps.length) : nearest(steps, shown);
        show(steps[Math.min(steps.length - 1, Math.max(0, at + direction))]);
      });
      svg.addEventListener('blur', hide);
    }
  };

  document.querySelectorAll('section.run').forEach((section, i) => follow(section, data.runs[i]));
  // What is folded away on the screen belongs on paper.
  addEventListener('beforeprint', () => document.querySelectorAll('details').forEach((part) => { part.open = true; }));
})();
