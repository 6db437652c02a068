import type { Heights } from './heights.ts'
import { heightsOf } from './heights.ts'

type Key = string | number

export interface Rows {
  readonly count: number
  /** Unique and stable for each row. */
  readonly keyOf: (index: number) => Key
  /** The assumed height of a row that was not rendered yet. */
  readonly estimate: (index: number) => number
}

export interface PlacedRow {
  readonly index: number
  readonly key: Key
}

export interface Placement {
  readonly heights: Heights
  /** The rows rendered last. If none of them moved, no row was inserted or removed above. */
  drawn: readonly PlacedRow[]
  measured(key: Key, index: number, height: number): void
  /**
   * Applies changes of the rows. Appending costs only the new rows; if rendered rows have moved,
   * all rows from there on are read again. Returns the new indexes of the `wanted` rows; undefined for removed
   * ones.
   */
  update(rows: Rows, wanted: readonly (PlacedRow | undefined)[]): readonly (number | undefined)[]
}

/** Tracks the positions of rows, also when others are inserted before them. */
export function createPlacement(): Placement {
  const heights = heightsOf()
  /** Measured heights. */
  const known = new Map<Key, number>()

  const place: Placement = {
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
      // Rows before one that has not moved have not moved either.
      const moved = place.drawn.findIndex((row) => !isSame(row))
      const kept = isAppended ? count : moved > 0 ? (place.drawn[moved - 1]?.index ?? -1) + 1 : 0
      heights.cut(kept)
      const places = wanted.map((row) =>
        row && row.index < Math.min(kept, count) && isSame(row) ? row.index : undefined,
      )
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
