import type { Wire } from '../contract.ts'
import type { Render, RenderOptions } from './frame.ts'
import { renderChat } from './render-chat.ts'
import { renderMessages } from './render-messages.ts'
import { renderResponses } from './render-responses.ts'
import type { Scenario } from './scenario.ts'
import { scenarioOf } from './scenario.ts'

/** Bytes that are written together, `waitMs` after those before them. */
export interface Piece {
  readonly waitMs: number
  readonly bytes: Buffer
  /** Where a time is to be written in, and that of which delta. */
  readonly stamps: readonly { readonly at: number; readonly index: number }[]
}

/** Chunks are cut anywhere, as a network does. */
const chunkBytes = 4096
const renderers: Record<Wire, Render> = {
  chat: renderChat,
  responses: renderResponses,
  messages: renderMessages,
}

/** Renders each answer once; all that is left to do for a request is writing. */
export function bodyStore() {
  const scenarios = new Map<string, Scenario | undefined>()
  const bodies = new Map<string, readonly Piece[]>()

  function scenario(name: string): Scenario | undefined {
    if (!scenarios.has(name)) scenarios.set(name, scenarioOf(name))
    return scenarios.get(name)
  }

  function body(name: string, wire: Wire, round: number, options: RenderOptions): readonly Piece[] {
    const key = [name, wire, round, wire === 'chat' && options.usage, options.obfuscation].join(' ')
    const known = bodies.get(key)
    if (known) return known
    const found = scenario(name)
    if (!found) return []
    const input = { name, scenario: found, round, parts: found.round(round), options }
    const pieces = inPieces(renderers[wire](input))
    bodies.set(key, pieces)
    return pieces
  }

  /** Renders what clients ask for as a rule, so that the first one does not wait for it. */
  function prepare(name: string, wire: Wire): void {
    const found = scenario(name)
    for (let round = 0; round < (found?.rounds ?? 0); round++)
      for (const usage of wire === 'chat' ? [true, false] : [false])
        body(name, wire, round, { usage, obfuscation: true })
  }

  return { scenario, body, prepare }
}

function inPieces(frames: ReturnType<Render>): Piece[] {
  const pieces: Piece[] = []
  let waitMs = 0
  let text = ''
  function flush() {
    if (text === '') return
    const stamps = [...text.matchAll(/~stamp~(\d{10})~/g)].map((match) => ({
      at: match.index,
      index: Number(match[1]),
    }))
    const all = Buffer.from(text)
    if (stamps.length > 0) pieces.push({ waitMs, bytes: all, stamps })
    else
      for (let at = 0; at < all.length; at += chunkBytes)
        pieces.push({ waitMs: at === 0 ? waitMs : 0, bytes: all.subarray(at, at + chunkBytes), stamps })
    text = ''
  }
  for (const frame of frames) {
    if (frame.waitMs > 0) {
      flush()
      waitMs = frame.waitMs
    } else if (text === '') waitMs = 0
    text += frame.text
  }
  flush()
  return pieces
}
