import type { Part, Scenario } from './scenario.ts'

/** One event as it goes over the wire. */
export interface Frame {
  readonly text: string
  /** How long to wait before it is written. */
  readonly waitMs: number
}

/** What a renderer is given. */
export interface RenderInput {
  readonly name: string
  readonly scenario: Scenario
  readonly round: number
  readonly parts: readonly Part[]
  readonly options: RenderOptions
}

/** What a request may ask for. */
export interface RenderOptions {
  /** Chat Completions tells usage only when asked. */
  readonly usage: boolean
  /** OpenAI pads its deltas, so that their sizes do not tell the words, unless it is asked not to. */
  readonly obfuscation: boolean
}

export type Render = (input: RenderInput) => Frame[]

export const created = 1_790_000_000
const letters = 'aQ3xZr8KpL0vTn5Y'

export const padding = ({ obfuscation }: RenderOptions, delta = '') =>
  obfuscation ? { obfuscation: letters.slice(delta.length % letters.length) } : {}

/** Made-up counts that depend on nothing but the answer's size. */
export function tokens(round: number, parts: readonly Part[]): { input: number; output: number } {
  const output = parts.reduce((sum, { deltas }) => sum + deltas.length, 0)
  return { input: 50 + round * 40, output }
}

export const joined = ({ deltas }: Part) => deltas.join('')
