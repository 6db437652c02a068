import { invalidInput } from 'millrace/internal'

/** Sound at one rate in, the same at another out. */
export interface Resampler {
  /** Takes any number of samples, and gives those that can be known by now: together the same ones, however the sound is cut. */
  push(pcm: Int16Array): Int16Array
  /** What is left. What comes after it begins anew. */
  flush(): Int16Array
}

/** Zero crossings of the sinc to each side of its middle. More make a steeper filter, and cost as much more. */
const crossings = 24
/** What lies above 0.92 of the lower of the two limits fades, and is gone at the limit: a Kaiser window of 60 dB. */
const cutoff = 0.92
const beta = 5.65
/** Rates that share no large divisor need more places between two samples than this: they take the mean of two. */
const mostPhases = 512

/**
 * A windowed sinc in phases (Crochiere and Rabiner, Multirate Digital Signal Processing, 4). Its delay is taken out: the sample at a
 * given time comes out at that time. Costs 48 multiplications a sample, and as many times more as the rate goes down.
 */
export function resampler(from: number, to: number): Resampler {
  for (const rate of [from, to])
    if (!(Number.isInteger(rate) && rate >= 1000 && rate <= 192_000))
      throw invalidInput('resampler', `a sample rate is a whole number from 1000 to 192000, not ${rate}`)
  if (from === to) return { push: (pcm) => pcm, flush: () => new Int16Array() }
  const divisor = greatestDivisor(from, to)
  const [up, down] = [to / divisor, from / divisor]
  const filter = filterFor(up, down)
  const { half } = filter
  /** Samples from `start` on; those before the first one are silence. */
  let held = new Int16Array(half)
  let start = -half
  /** The next sample to give: at `next · down / up` of those that came in. */
  let next = 0

  /** Gives what lies before `end`, as far as what stands around it is there. */
  function give(end: number): Int16Array {
    // All of floor(next·down/up) + half < end, and so all samples that are needed are there.
    const last = Math.ceil(((end - half) * up) / down)
    const out = new Int16Array(Math.max(0, last - next))
    for (let at = 0; at < out.length; at++, next++) {
      const whole = Math.floor((next * down) / up)
      const phase = (((next * down) % up) / up) * filter.phases
      out[at] = clipped(filter.at(held, whole - half + 1 - start, phase))
    }
    // Before 2^53 comes near, and so that a long sound is no less exact than a short one.
    const turns = Math.floor(next / up)
    next -= turns * up
    start -= turns * down
    const first = Math.floor((next * down) / up) - half + 1
    held = held.slice(Math.max(0, first - start))
    start = Math.max(start, first)
    return out
  }

  return {
    push(pcm) {
      held = joined(held, pcm)
      return give(start + held.length)
    },
    flush() {
      const end = start + held.length
      held = joined(held, new Int16Array(half))
      const rest = give(end + half)
      held = new Int16Array(half)
      start = -half
      next = 0
      return rest
    },
  }
}

interface Filter {
  /** So many samples to each side. */
  readonly half: number
  readonly phases: number
  /** What lies `phase` of `phases` behind the sample in the middle of those that begin at `first`. */
  at(samples: Int16Array, first: number, phase: number): number
}

const filters = new Map<string, Filter>()

/** They are made once: that takes about 1 ms for usual rates. Those of odd rates are as small, and not many are kept. */
function filterFor(up: number, down: number): Filter {
  const key = `${up}/${down}`
  const known = filters.get(key)
  if (known) return known
  if (filters.size >= 64) filters.clear()
  const made = makeFilter(up, down)
  filters.set(key, made)
  return made
}

function makeFilter(up: number, down: number): Filter {
  const phases = Math.min(up, mostPhases)
  /** Sound that the lower rate cannot hold would come back as another. */
  const scale = cutoff * Math.min(1, up / down)
  const half = Math.ceil(crossings / Math.min(1, up / down))
  const taps = 2 * half
  const table = new Float64Array((phases + 1) * taps)
  for (let phase = 0; phase <= phases; phase++) {
    const row = table.subarray(phase * taps, (phase + 1) * taps)
    for (let tap = 0; tap < taps; tap++) {
      const distance = tap - half + 1 - phase / phases
      row[tap] = sinc(distance * scale) * kaiser(distance / half)
    }
    // Each phase as loud as the next.
    const sum = row.reduce((total, value) => total + value, 0)
    for (let tap = 0; tap < taps; tap++) row[tap] = (row[tap] ?? 0) / sum
  }
  const sumOf = (samples: Int16Array, first: number, phase: number) => {
    const row = phase * taps
    let sum = 0
    for (let tap = 0; tap < taps; tap++)
      sum += (table[row + tap] as number) * (samples[first + tap] as number)
    return sum
  }
  return {
    half,
    phases,
    at(samples, first, phase) {
      const whole = Math.floor(phase)
      const part = phase - whole
      const sum = sumOf(samples, first, whole)
      return part === 0 ? sum : sum * (1 - part) + sumOf(samples, first, whole + 1) * part
    },
  }
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)
}

function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(beta * Math.sqrt(1 - x * x)) / bessel(beta)
}

/** The modified Bessel function of the first kind and order 0, by its series. */
function bessel(x: number): number {
  let sum = 1
  for (let term = 1, k = 1; term > 1e-12 * sum; k++) {
    term *= (x / 2 / k) ** 2
    sum += term
  }
  return sum
}

function clipped(sample: number): number {
  return Math.max(-32_768, Math.min(32_767, Math.round(sample)))
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other)
}

function joined(one: Int16Array<ArrayBuffer>, other: Int16Array): Int16Array<ArrayBuffer> {
  const all = new Int16Array(one.length + other.length)
  all.set(one)
  all.set(other, one.length)
  return all
}
