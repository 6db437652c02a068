/** What a Claude model supports, judging by its name. An unknown one is assumed to be new. */
export interface Traits {
  /** The limit for `max_tokens`, which is a required field. */
  readonly maxTokens: number
  /**
   * `budget`: `thinking.budget_tokens`. `adaptive`: `thinking.type: "adaptive"` with an effort,
   * required from 4.7 on.
   */
  readonly thinking: 'none' | 'budget' | 'adaptive'
  /** From 5 on, some models always think and reject `thinking.type: "disabled"`. */
  readonly alwaysThinks: boolean
  /** Some models reject a forced tool choice. */
  readonly forcedTools: boolean
  /**
   * Which of `temperature` and `top_p` may be set: only one from 4.1 on (`temperature and top_p
   * cannot both be specified for this model`), neither from 4.7 on.
   */
  readonly sampling: 'both' | 'one' | 'none'
  /** Supports a schema for the answer (`output_config.format`). */
  readonly structuredOutput: boolean
}

export function traitsOf(model: string): Traits {
  const { family, version } = parseName(model)
  const isFableOrMythos = family === 'fable' || family === 'mythos'
  const rejectsForcedTools = version >= 5.5 ? family !== 'haiku' : isFableOrMythos && version > 5
  return {
    maxTokens: maxTokens(family, version),
    thinking: version >= 4.6 ? 'adaptive' : version >= 3.7 ? 'budget' : 'none',
    alwaysThinks: rejectsForcedTools || isFableOrMythos,
    forcedTools: !rejectsForcedTools,
    sampling: version >= 4.7 ? 'none' : version >= 4.1 ? 'one' : 'both',
    structuredOutput: version >= 4.1,
  }
}

const newest = 99

/**
 * `claude-opus-4-6`, `claude-sonnet-4-20250514` (4.0), `claude-3-5-haiku-latest`,
 * `claude-mythos-preview` (no number: newest).
 */
function parseName(model: string): { family: string; version: number } {
  const family = /opus|sonnet|haiku|fable|mythos/.exec(model)?.[0] ?? ''
  // Not Claude: a compatible server with models of unknown capabilities.
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
