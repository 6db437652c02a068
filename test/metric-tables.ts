import { parseMarkdown } from './markdown.ts'
import type { Metric } from './prometheus-names.ts'

/** A metric as described in the document. */
interface Row extends Metric {
  readonly attributes: readonly string[]
  readonly isOlder: boolean
}

/** The document's names of groups of attributes, from the key below its table. */
const groupsOfAttributes: Readonly<Record<string, readonly string[]>> = {
  agent: ['gen_ai.agent.name'],
  tool: ['gen_ai.tool.name', 'gen_ai.tool.type'],
  error: ['error.type'],
  outcome: ['millrace.run.outcome'],
  limit: ['millrace.limit'],
  model: [
    'gen_ai.operation.name',
    'gen_ai.provider.name',
    'gen_ai.request.model',
    'server.address',
    'server.port',
  ],
  asked: ['gen_ai.provider.name', 'gen_ai.request.model'],
  kind: ['millrace.cost.kind'],
  budget: ['millrace.budget.scope', 'millrace.budget.kind', 'millrace.budget.action'],
  answer: ['gen_ai.response.model'],
  modality: ['gen_ai.token.modality'],
}

/** The rows of its tables of metrics. */
export function metricRows(source: string): Row[] {
  let head = ''
  return parseMarkdown(source).prose.flatMap((line) => {
    const [first = '', kind = '', unit = '', attributes = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim())
    const name = /^`(.+)`$/.exec(first)?.[1]
    if (name === undefined) {
      if (!/^-*$/.test(first) || line === '') head = first
      return []
    }
    if (head !== 'metric' && head !== 'older name') return []
    const isOlder = head === 'older name'
    const words = isOlder || attributes === '' ? [] : attributes.split(', ')
    return [
      {
        name,
        kind: kind as Metric['kind'],
        unit: unit.replaceAll('`', ''),
        attributes: words.flatMap((word) => groupsOfAttributes[word] ?? word.replaceAll('`', '')),
        isOlder,
      },
    ]
  })
}
