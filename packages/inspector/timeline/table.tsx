import { useSignal } from '@preact/signals'
import { number } from '../format.ts'
import { inspect } from '../state.ts'
import type { Chart } from './chart.ts'
import { labelsOf, tableRows } from './labels.ts'

const pageSize = 100

/** The chart as a table. Rendered when it is opened, and page by page. */
export function TimesTable({ chart }: { readonly chart: Chart }) {
  const most = useSignal(0)
  const isOpen = most.value > 0
  const rows = isOpen ? tableRows(chart) : []
  return (
    <details
      class="timeline-table"
      onToggle={({ currentTarget }) => (most.value = currentTarget.open ? pageSize : 0)}
    >
      <summary>Show as table</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be focusable.
        <section tabIndex={0} aria-label="Times of this run">
          <table>
            <thead>
              <tr>
                {['Lane', 'Step', 'From', 'To', 'Duration', 'Details'].map((head) => (
                  <th key={head} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, most.value).map(({ lane, step }) => {
                const { from, to, took } = labelsOf(step, chart.start)
                const { of } = step
                return (
                  <tr key={step.key}>
                    <td>{lane}</td>
                    <td>
                      <button type="button" class="plain" onClick={() => of && inspect(of)}>
                        {step.what}
                      </button>
                    </td>
                    <td>{from}</td>
                    <td>{step.open ? 'running' : to}</td>
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
