/** 10 ms at 16 kHz: what is measured at a time, and how many of them a breath takes. */
const block = 160
const breath = 10

/** The middle of the quietest tenth of a second between two places: a word that is cut in two is lost. */
export function quietPlace(pcm: Int16Array, from: number, to: number): number {
  const levels: number[] = []
  for (let at = from; at + block <= to; at += block) levels.push(energy(pcm, at))
  let best = { at: to, level: Number.POSITIVE_INFINITY }
  for (let first = 0; first + breath <= levels.length; first++) {
    const level = levels.slice(first, first + breath).reduce((sum, one) => sum + one, 0)
    if (level < best.level) best = { at: from + (first + breath / 2) * block, level }
  }
  return best.at
}

function energy(pcm: Int16Array, at: number): number {
  let sum = 0
  for (let i = at; i < at + block; i++) sum += (pcm[i] ?? 0) ** 2
  return sum
}

/** Pieces of `longest` samples at most, cut where it is quiet. One that is short enough stays as it is. */
export function* piecesOf(pcm: Int16Array, longest: number): Generator<Int16Array> {
  let rest = pcm
  while (rest.length > longest) {
    const cut = quietPlace(rest, Math.floor(longest * 0.6), longest)
    yield rest.subarray(0, cut)
    rest = rest.subarray(cut)
  }
  yield rest
}
