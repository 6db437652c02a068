import type { Attributes } from '@opentelemetry/api'
import type { Model } from 'millrace'
import type { Conventions } from './instruments.ts'
import { providerName } from './provider-names.ts'

/** Who is asked, as spans and metrics tell it. */
export interface Names {
  readonly metrics: Attributes
  /** For the span of the run that has asked it first. */
  readonly run: Attributes
  /** The same with the model that answered, as far as there are few of them: a provider may say anything. */
  answeredBy(answered: unknown): Answered
}

interface Answered {
  readonly metrics: Attributes
  /** For what is counted of its tokens. No provider says of which kind all of them were. */
  readonly counted: Attributes
}

const mostAnswers = 20

/** What is the same for all calls of a model, made once. By what it says of itself: a model may stand for another one later. */
export function modelNames(conventions: Conventions): (model: Model) => Names {
  const known = new Map<string, Names>()
  return (model) => {
    const key = [model.provider, model.id, model.address, model.capabilities.streaming].join('\n')
    const names = known.get(key) ?? makeNames(model, conventions)
    known.set(key, names)
    return names
  }
}

function makeNames(model: Model, conventions: Conventions): Names {
  const provider = providerName(model.provider)
  const run: Attributes = {
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': model.id,
    // What the older conventions called a provider.
    ...(conventions !== 'current' && { 'gen_ai.system': provider }),
  }
  const metrics: Attributes = { 'gen_ai.operation.name': 'chat', ...run, ...serverOf(model) }
  const answer = (metrics: Attributes) => ({
    metrics,
    counted: { ...metrics, 'gen_ai.token.modality': 'unknown' },
  })
  const unsaid = answer(metrics)
  const byAnswer = new Map<string, Answered>()
  return {
    metrics,
    run,
    answeredBy(answered) {
      if (typeof answered !== 'string') return unsaid
      const said = byAnswer.get(answered)
      if (said || byAnswer.size >= mostAnswers) return said ?? unsaid
      const made = answer({ ...metrics, 'gen_ai.response.model': answered })
      byAnswer.set(answered, made)
      return made
    },
  }
}

function serverOf({ address }: Model): Attributes {
  if (address === undefined || !URL.canParse(address)) return {}
  const { hostname, port, protocol } = new URL(address)
  return {
    // The brackets of an IPv6 address are the URL's.
    'server.address': hostname.replace(/^\[(.*)\]$/, '$1'),
    'server.port': Number(port) || (protocol === 'http:' ? 80 : 443),
  }
}
