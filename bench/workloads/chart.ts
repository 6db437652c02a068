import { ourName, referenceName } from './plan.ts'
import type { Results, Row } from './results.ts'
import { allWires } from './workload.ts'

// Hand-made SVG: no library, no script. Its own background keeps it readable on any page.

interface Bar {
  readonly label: string
  readonly ratio: number
  readonly kind: 'ours' | 'floor' | 'peer'
}

interface Panel {
  readonly title: string
  readonly bars: readonly Bar[]
}

const width = 1120
const margin = 32
const gutter = 40
const panelWidth = (width - 2 * margin - gutter) / 2
const labelWidth = 178
const valueWidth = 44
const barHeight = 14
const step = 21
const headHeight = 34
const axisHeight = 30
const top = 96

const colors = { ours: '#e8590c', floor: '#ced4da', peer: '#74879b' }
const ink = '#1f2933'
const faint = '#7b8794'
const font = `font-family="ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"`

/** CPU of each client as a multiple of the reference, on a logarithmic scale. */
export function chart(results: Results): string {
  const columns = panelsOf(results).map((panels) => panels.filter(({ bars }) => bars.length > 0))
  const scale = scaleOf(columns.flat().flatMap(({ bars }) => bars.map(({ ratio }) => ratio)))
  const drawn: string[] = []
  let height = top
  for (const [at, panels] of columns.entries()) {
    let y = top
    for (const panel of panels) {
      const x = margin + at * (panelWidth + gutter)
      drawn.push(`<g transform="translate(${x} ${y})">${drawPanel(panel, scale)}</g>`)
      y += headHeight + panel.bars.length * step + axisHeight + 18
    }
    height = Math.max(height, y + 8)
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ${font} font-size="12" role="img" aria-label="CPU time of each client as a multiple of the reference">
<rect width="${width}" height="${height}" rx="12" fill="#ffffff" stroke="#e4e7eb"/>
<text x="${margin}" y="42" font-size="20" font-weight="600" fill="${ink}">CPU time, as a multiple of the reference</text>
<text x="${margin}" y="64" fill="${faint}">reference = fetch + eventsource-parser + JSON.parse; a shorter bar is better, to the left of the line is cheaper than the reference; logarithmic</text>
${legend()}
${drawn.join('\n')}
</svg>
`
}

function legend(): string {
  const entries = [
    ['Millrace', colors.ours],
    ['floors', colors.floor],
    ['peers', colors.peer],
  ] as const
  return entries
    .map(([name, color], at) => {
      const x = width - margin - 230 + at * 84
      return `<rect x="${x}" y="32" width="12" height="12" rx="2" fill="${color}"/><text x="${x + 18}" y="42" fill="${ink}">${name}</text>`
    })
    .join('')
}

/** Two columns: long answers on each wire, and short requests. */
function panelsOf(results: Results): Panel[][] {
  const cpu = (row: Row) => row.ratios.cpu
  const barsOf = (rows: readonly Row[]): Bar[] =>
    Array.from(
      Map.groupBy(
        rows.filter((row) => row.client !== referenceName && cpu(row) !== undefined),
        ({ client }) => client,
      ),
      ([client, some]) =>
        ({
          label: results.clients[client]?.label ?? client,
          ratio: Math.exp(some.reduce((sum, row) => sum + Math.log(cpu(row) ?? 1), 0) / some.length),
          kind: client === ourName ? 'ours' : client.startsWith('floor-') ? 'floor' : 'peer',
        }) as const,
    ).toSorted((a, b) => a.ratio - b.ratio)
  const of = (work: string) => results.rows.filter((row) => row.work === work)
  return [
    allWires.map((wire) => ({
      title: `Per text delta, ${wire}`,
      bars: barsOf(of('text').filter((row) => row.wire === wire)),
    })),
    [
      { title: 'Per short request', bars: barsOf(of('short')) },
      { title: 'Per loop of two rounds with three tools', bars: barsOf(of('loop')) },
    ],
  ]
}

interface Scale {
  readonly ticks: readonly number[]
  at(ratio: number): number
}

/** Powers of two that enclose all ratios. */
function scaleOf(ratios: readonly number[]): Scale {
  const low = Math.floor(Math.log2(Math.min(0.5, ...ratios)))
  const high = Math.ceil(Math.log2(Math.max(2, ...ratios)))
  const room = panelWidth - labelWidth - valueWidth
  return {
    ticks: Array.from({ length: high - low + 1 }, (_, at) => 2 ** (low + at)),
    at: (ratio) => labelWidth + ((Math.log2(ratio) - low) / (high - low)) * room,
  }
}

function drawPanel({ title, bars }: Panel, { ticks, at }: Scale): string {
  const bottom = headHeight + bars.length * step
  const grid = ticks.map((tick) => {
    const x = round(at(tick))
    const strong = tick === 1
    return `<line x1="${x}" x2="${x}" y1="${headHeight - 6}" y2="${bottom}" stroke="${strong ? ink : '#e4e7eb'}" stroke-width="${strong ? 1.5 : 1}"/><text x="${x}" y="${bottom + 15}" font-size="10.5" text-anchor="middle" fill="${strong ? ink : faint}">${fractions[tick] ?? tick}×</text>`
  })
  const drawn = bars.map(({ label, ratio, kind }, index) => {
    const y = headHeight + index * step
    const [from, to] = [at(1), at(ratio)].toSorted((a, b) => a - b) as [number, number]
    const weight = kind === 'ours' ? ' font-weight="700"' : ''
    const middle = y + barHeight - 3
    return `<text x="${labelWidth - 10}" y="${middle}" text-anchor="end" fill="${ink}"${weight}>${escaped(short(label))}</text><rect x="${round(from)}" y="${y}" width="${round(Math.max(1.5, to - from))}" height="${barHeight}" rx="2" fill="${colors[kind]}"/><text x="${round(to + 6)}" y="${middle}" font-size="11" fill="${ink}"${weight}>${number(ratio)}×</text>`
  })
  return `<text x="0" y="16" font-size="14" font-weight="600" fill="${ink}">${escaped(title)}</text>${grid.join('')}${drawn.join('')}`
}

/** Short, so that adjacent labels do not touch. */
const fractions: Readonly<Record<number, string>> = { 0.5: '½', 0.25: '¼', 0.125: '⅛' }

const round = (value: number) => Math.round(value * 10) / 10
const number = (ratio: number) => (ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(ratio >= 1 ? 1 : 2))
const short = (label: string) => (label.length > 28 ? `${label.slice(0, 27)}…` : label)
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
