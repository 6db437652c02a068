import type { Heights } from './heights.ts'
import { heightsOf } from './heights.ts'

type Key = string | number

export interface Rows {
  readonly count: number
  /** One of its own for each row, the same as long as it is the same row. */
  readonly keyOf: (index: number) => Key
  /** How high it is as long as nobody has seen it. */
  readonly estimate: (index: number) => number
}

export interface PlacedRow {
  readonly index: number
  readonly key: Key
}

export interface Placing {
  readonly heights: Heights
  /** What was drawn last; by these rows it is seen whether the others are where they were. */
  drawn: readonly PlacedRow[]
  measured(key: Key, index: number, height: number): void
  /**
   * Takes over what has changed. Rows added at the end cost what they are; only if those that are drawn have another place, all are
   * looked at again. Says where the rows it was asked for are now: undefined for those that are gone.
   */
  update(rows: Rows, wanted: readonly (PlacedRow | undefined)[]): readonly (number | undefined)[]
}

/** Knows where each row of a list belongs, also when others are put before it. */
export function placing(): Placing {
  const heights = heightsOf()
  /** Of those that were seen. */
  const known = new Map<Key, number>()

  const place: Placing = {
    heights,
    drawn: [],
    measured(key, index, height) {
      known.set(key, height)
      heights.set(index, height)
    },
    update({ count, keyOf, estimate }, wanted) {
      const isSame = (row: PlacedRow | undefined) =>
        !row || row.index >= count || keyOf(row.index) === row.key
      const isAppended = [...place.drawn, ...wanted].every(isSame)
      heights.cut(isAppended ? count : 0)
      const places = wanted.map((row) => (isAppended && row && row.index < count ? row.index : undefined))
      for (let index = heights.count; index < count; index++) {
        const key = keyOf(index)
        heights.append(known.get(key) ?? estimate(index))
        if (isAppended) continue
        for (const [i, row] of wanted.entries()) if (row?.key === key) places[i] = index
      }
      return places
    },
  }
  return place
}
