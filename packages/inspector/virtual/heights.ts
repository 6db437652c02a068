/** Row heights and positions. Every operation is O(log n). */
export interface Heights {
  readonly count: number
  readonly total: number
  append(height: number): void
  set(index: number, height: number): void
  /** Removes all rows from `count` on. */
  cut(count: number): void
  /** The total height of the rows before `index`. */
  before(index: number): number
  /** The row at `offset` from the top, or the nearest row. */
  at(offset: number): number
}

const lowestBit = (n: number) => n & -n

/**
 * A binary indexed tree (Fenwick, 1994): `sums[n]` is the total height of the `lowestBit(n)` rows
 * that end with the nth. Appending does not change other nodes.
 */
export function heightsOf(): Heights {
  const sums = [0]
  const countNow = () => sums.length - 1

  function before(index: number): number {
    let sum = 0
    for (let n = Math.min(index, countNow()); n > 0; n -= lowestBit(n)) sum += sums[n] ?? 0
    return sum
  }

  return {
    get count() {
      return countNow()
    },
    get total() {
      return before(countNow())
    },
    before,
    append(height) {
      const n = sums.length
      sums.push(before(n - 1) - before(n - lowestBit(n)) + height)
    },
    set(index, height) {
      const change = height - before(index + 1) + before(index)
      for (let n = index + 1; n < sums.length; n += lowestBit(n)) sums[n] = (sums[n] ?? 0) + change
    },
    cut(count) {
      sums.length = Math.min(sums.length, count + 1)
    },
    at(offset) {
      let n = 0
      let rest = offset
      for (let step = 2 ** Math.floor(Math.log2(sums.length)); step >= 1; step /= 2) {
        const sum = sums[n + step]
        if (sum === undefined || sum > rest) continue
        n += step
        rest -= sum
      }
      return Math.max(0, Math.min(n, countNow() - 1))
    },
  }
}
