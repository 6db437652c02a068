import type { Attributes } from '@opentelemetry/api'
import type { Model } from 'millrace'
import type { Conventions } from './instruments.ts'
import { providerName } from './provider-names.ts'

/** The attributes of a model for spans and metrics. */
export interface Names {
  readonly metrics: Attributes
  /** For the span of a run that calls this model first. */
  readonly run: Attributes
  /**
   * `metrics` with the model that answered. Limited to a few models, since a provider may return
   * any name.
   */
  answeredBy(answered: unknown): Answered
}

interface Answered {
  readonly metrics: Attributes
  /** For token counters. No provider reports the modality of all tokens. */
  readonly counted: Attributes
}

const maxResponseModels = 20

/**
 * Caches the attributes that all calls of a model share. By value, since a model object may change
 * what it stands for.
 */
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
    // The name in the older conventions.
    ...(conventions !== 'current' && { 'gen_ai.system': provider }),
  }
  const metrics: Attributes = { 'gen_ai.operation.name': 'chat', ...run, ...serverOf(model) }
  const answer = (metrics: Attributes) => ({
    metrics,
    counted: { ...metrics, 'gen_ai.token.modality': 'unknown' },
  })
  const unnamed = answer(metrics)
  const byAnswer = new Map<string, Answered>()
  return {
    metrics,
    run,
    answeredBy(answered) {
      if (typeof answered !== 'string') return unnamed
      const known = byAnswer.get(answered)
      if (known || byAnswer.size >= maxResponseModels) return known ?? unnamed
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
    // Without the brackets that a URL puts around an IPv6 address.
    'server.address': hostname.replace(/^\[(.*)\]$/, '$1'),
    'server.port': Number(port) || (protocol === 'http:' ? 80 : 443),
  }
}
