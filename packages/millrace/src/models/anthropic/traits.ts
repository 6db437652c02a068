/** What a Claude model takes, as far as its name tells. One that is not known is taken for a new one. */
export interface Traits {
  /** The most it writes: `max_tokens` must be sent, and more than this is refused. */
  readonly maxTokens: number
  /** `budget`: `thinking.budget_tokens`. `adaptive`: `thinking.type: "adaptive"` with an effort; from 4.7 on nothing else. */
  readonly thinking: 'none' | 'budget' | 'adaptive'
  /** From 5 on some models always think, and refuse `thinking.type: "disabled"`. */
  readonly alwaysThinks: boolean
  /** Those refuse to be held to a tool as well. */
  readonly forcedTools: boolean
  /**
   * Which of `temperature` and `top_p` may be set. From 4.1 on one of them (`temperature and top_p cannot both be
   * specified for this model`), and from 4.7 on neither.
   */
  readonly sampling: 'both' | 'one' | 'none'
  /** Takes a schema for its answer (`output_config.format`). */
  readonly structuredOutput: boolean
}

export function traitsOf(model: string): Traits {
  const { family, version } = nameOf(model)
  const free = family === 'fable' || family === 'mythos'
  const stubborn = version >= 5.5 ? family !== 'haiku' : free && version > 5
  return {
    maxTokens: maxTokens(family, version),
    thinking: version >= 4.6 ? 'adaptive' : version >= 3.7 ? 'budget' : 'none',
    alwaysThinks: stubborn || free,
    forcedTools: !stubborn,
    sampling: version >= 4.7 ? 'none' : version >= 4.1 ? 'one' : 'both',
    structuredOutput: version >= 4.1,
  }
}

const newest = 99

/** `claude-opus-4-6`, `claude-sonnet-4-20250514` (4.0), `claude-3-5-haiku-latest`, `claude-mythos-preview` (no number: new). */
function nameOf(model: string): { family: string; version: number } {
  const family = /opus|sonnet|haiku|fable|mythos/.exec(model)?.[0] ?? ''
  // Not Claude at all: a server that speaks its language, with models of who knows what kind.
  if (!model.includes('claude')) return { family, version: 4 }
  const found = /claude-(?:[a-z]+-)?v?(\d)(?:[-.](\d)(?!\d))?/.exec(model)
  return { family, version: found ? Number(found[1]) + Number(found[2] ?? 0) / 10 : newest }
}

function maxTokens(family: string, version: number): number {
  if (version < 3.5) return 4096
  if (family === '') return 16_000
  if (version >= 4.6) return 128_000
  if (version < 3.7) return 8192
  return family === 'opus' && version < 4.5 ? 32_000 : 64_000
}
