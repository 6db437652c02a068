import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { number } from '../format.ts'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
  /** Left out where there is no room for it. */
  readonly isExtra?: boolean
}

export interface TableProps<Row> {
  readonly label: string
  /** The first one names the row. */
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => number
}

const step = 50

/** A table that fits its panel, and shows a part of its rows and more on demand. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  const [most, setMost] = useState(step)
  const kindOf = ({ isNumber, isExtra }: Column<Row>) =>
    `${isNumber ? 'detail-number' : ''} ${isExtra ? 'detail-extra' : ''}`
  return (
    <>
      <table class="detail-table" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={kindOf(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column, index) =>
                index === 0 ? (
                  <th key={column.head} scope="row">
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.head} class={kindOf(column)}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > most && (
        <button type="button" onClick={() => setMost(most + step)}>
          {number(rows.length - most)} more
        </button>
      )}
    </>
  )
}
