import { useSignal } from '@preact/signals'
import { number } from '../format.ts'
import { show } from '../state.ts'
import type { Chart } from './chart.ts'
import { rowsOf, wordsOf } from './words.ts'

const pageSize = 100

/** The same in words, for those who would rather read it. Made only when it is opened, and no more of it than is asked for. */
export function TimesTable({ chart }: { readonly chart: Chart }) {
  const most = useSignal(0)
  const isOpen = most.value > 0
  const rows = isOpen ? rowsOf(chart) : []
  return (
    <details
      class="timeline-table"
      onToggle={({ currentTarget }) => (most.value = currentTarget.open ? pageSize : 0)}
    >
      <summary>As a table</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
        <section tabIndex={0} aria-label="Times of this run">
          <table>
            <thead>
              <tr>
                {['Lane', 'What', 'From', 'To', 'Took', 'More'].map((head) => (
                  <th key={head} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, most.value).map(({ lane, step }) => {
                const { from, to, took } = wordsOf(step, chart.start)
                const { of } = step
                return (
                  <tr key={step.key}>
                    <td>{lane}</td>
                    <td>
                      <button type="button" class="plain" onClick={() => of && show(of)}>
                        {step.what}
                      </button>
                    </td>
                    <td>{from}</td>
                    <td>{step.open ? 'going on' : to}</td>
                    <td>{took}</td>
                    <td>{step.more.join(', ')}</td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </section>
      )}
      {rows.length > most.value && (
        <button type="button" onClick={() => (most.value += pageSize)}>
          {number(rows.length - most.value)} more
        </button>
      )}
    </details>
  )
}
