import type { Axis } from './axis.ts'
import { exact } from './labels.ts'
import type { StepInput } from './steps.ts'

const minute = 60_000

/** A round step: 1, 2, 5, 10 … milliseconds or minutes, or half a minute. */
function roundStep(atLeastMs: number): number {
  const unit = atLeastMs > 20_000 ? minute : 1
  const power = unit * 10 ** Math.floor(Math.log10(atLeastMs / unit))
  return power * ([1, 2, 5].find((times) => times * power >= atLeastMs) ?? 10)
}

/** Round times since the start of the run, at least `atLeastMs` apart, and not in folds. */
export function ticksOf({ start, folds }: Axis, from: number, to: number, atLeastMs: number) {
  const step = roundStep(Math.max(1, atLeastMs))
  const ticks: StepInput<'tick'>[] = []
  for (let ms = Math.ceil((from - start) / step) * step; start + ms <= to; ms += step) {
    const at = start + ms
    const fold = folds.find((one) => one.start < at && at < one.end)
    // Skip to the last tick before the end of the fold.
    if (fold) ms = Math.ceil((fold.end - start) / step - 1) * step
    else ticks.push({ kind: 'tick', what: exact(ms).replace(/\.?0+ s$/, ' s'), start: at })
  }
  return ticks
}
