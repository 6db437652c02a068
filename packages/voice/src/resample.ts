import { invalidInput } from 'millrace/internal'

/** Converts audio from one sample rate to another. */
export interface Resampler {
  /**
   * Takes any number of samples and returns the output so far. The total does not depend on the
   * chunking.
   */
  push(pcm: Int16Array): Int16Array
  /** Returns the rest and resets. */
  flush(): Int16Array
}

/**
 * Zero crossings of the sinc on each side. More make the filter steeper and proportionally slower.
 */
const crossings = 24
/** The filter falls off from 0.92 of the lower Nyquist frequency: a Kaiser window of 60 dB. */
const cutoff = 0.92
const beta = 5.65
/**
 * Rates without a large common divisor need more phases than this: they interpolate between two.
 */
const maxPhases = 512

/**
 * A polyphase windowed sinc (Crochiere and Rabiner, Multirate Digital Signal Processing, 4) without
 * delay. Costs 48 multiplications per sample, and proportionally more when downsampling.
 */
export function resampler(from: number, to: number): Resampler {
  for (const rate of [from, to])
    if (!(Number.isInteger(rate) && rate >= 1000 && rate <= 192_000))
      throw invalidInput(
        'resampler',
        `the sample rate must be a whole number from 1000 to 192000, not ${rate}`,
      )
  if (from === to) return { push: (pcm) => pcm, flush: () => new Int16Array() }
  const divisor = greatestDivisor(from, to)
  const [up, down] = [to / divisor, from / divisor]
  const filter = filterFor(up, down)
  const { half } = filter
  /** Input samples from `start` on, preceded by silence. */
  let held = new Int16Array(half)
  let start = -half
  /** The next output sample, at input position `next · down / up`. */
  let next = 0

  /** Returns the output before `end` whose surrounding input is available. */
  function produce(end: number): Int16Array {
    // floor(next·down/up) + half < end for all of them, so all needed samples are available.
    const last = Math.ceil(((end - half) * up) / down)
    const out = new Int16Array(Math.max(0, last - next))
    for (let at = 0; at < out.length; at++, next++) {
      const whole = Math.floor((next * down) / up)
      const phase = (((next * down) % up) / up) * filter.phases
      out[at] = clip(filter.at(held, whole - half + 1 - start, phase))
    }
    // Keeps the numbers small, so that long audio is as exact as short audio.
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
      held = concat(held, pcm)
      return produce(start + held.length)
    },
    flush() {
      const end = start + held.length
      held = concat(held, new Int16Array(half))
      const rest = produce(end + half)
      held = new Int16Array(half)
      start = -half
      next = 0
      return rest
    },
  }
}

interface Filter {
  /** The number of samples on each side. */
  readonly half: number
  readonly phases: number
  /** The value at `phase / phases` after the middle one of the samples that start at `first`. */
  at(samples: Int16Array, first: number, phase: number): number
}

const filters = new Map<string, Filter>()

/**
 * Cached, since building a filter takes about 1 ms. The cache is bounded in case of unusual rates.
 */
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
  const phases = Math.min(up, maxPhases)
  /** Frequencies above the lower Nyquist limit would alias. */
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
    // Normalizes each phase to the same gain.
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

function clip(sample: number): number {
  return Math.max(-32_768, Math.min(32_767, Math.round(sample)))
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other)
}

function concat(one: Int16Array<ArrayBuffer>, other: Int16Array): Int16Array<ArrayBuffer> {
  const all = new Int16Array(one.length + other.length)
  all.set(one)
  all.set(other, one.length)
  return all
}
