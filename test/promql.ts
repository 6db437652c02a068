import { parser } from '@prometheus-io/lezer-promql'

/** A metric in an expression. */
interface Asked {
  readonly series: string
  /** The labels that it selects by. */
  readonly labels: readonly string[]
}

export interface Expression {
  /** Syntax errors. */
  readonly faults: readonly string[]
  readonly asked: readonly Asked[]
  /** The labels that it groups by. */
  readonly groups: readonly string[]
}

/** Reads PromQL with the grammar of Prometheus' own UI. */
export function readPromql(source: string): Expression {
  const faults: string[] = []
  const asked: { series: string; labels: string[] }[] = []
  const groups: string[] = []
  let isGroup = false
  parser.parse(source).iterate({
    enter({ type, name, from, to, node }) {
      const text = source.slice(from, to)
      if (type.isError) faults.push(`at ${from}: ${source.slice(from, from + 20)}`)
      if (name === 'VectorSelector') {
        const series = node.getChild('Identifier')
        asked.push({ series: series ? source.slice(series.from, series.to) : '', labels: [] })
      }
      if (name === 'GroupingLabels') isGroup = true
      if (name === 'LabelName') (isGroup ? groups : asked.at(-1)?.labels)?.push(text)
    },
    leave({ name }) {
      if (name === 'GroupingLabels') isGroup = false
    },
  })
  return { faults, asked, groups }
}
