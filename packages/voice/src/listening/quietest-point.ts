/** Energy is measured in blocks of 10 ms (at 16 kHz), over a window of 100 ms. */
const blockSamples = 160
const windowBlocks = 10

/** The middle of the quietest 100 ms in a range. A word that is cut in two is lost. */
export function quietestPoint(pcm: Int16Array, from: number, to: number): number {
  const levels: number[] = []
  for (let at = from; at + blockSamples <= to; at += blockSamples) levels.push(energy(pcm, at))
  let best = { at: to, level: Number.POSITIVE_INFINITY }
  for (let first = 0; first + windowBlocks <= levels.length; first++) {
    const level = levels.slice(first, first + windowBlocks).reduce((sum, one) => sum + one, 0)
    if (level < best.level) best = { at: from + (first + windowBlocks / 2) * blockSamples, level }
  }
  return best.at
}

function energy(pcm: Int16Array, at: number): number {
  let sum = 0
  for (let i = at; i < at + blockSamples; i++) sum += (pcm[i] ?? 0) ** 2
  return sum
}

/** Splits audio into pieces of at most `maxSamples`, at the quietest points. */
export function* splitAtQuiet(pcm: Int16Array, maxSamples: number): Generator<Int16Array> {
  let rest = pcm
  while (rest.length > maxSamples) {
    const cut = quietestPoint(rest, Math.floor(maxSamples * 0.6), maxSamples)
    yield rest.subarray(0, cut)
    rest = rest.subarray(cut)
  }
  yield rest
}
